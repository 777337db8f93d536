import { readDocument } from './read'

// What is injected last is what chrome.scripting.executeScript answers.
;(globalThis as { tsumugiRead?: typeof readDocument }).tsumugiRead = readDocument
