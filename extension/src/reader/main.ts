import { readDocument } from './read'

// The panel calls this function by chrome.scripting.executeScript.
;(globalThis as { tsumugiRead?: typeof readDocument }).tsumugiRead = readDocument
