import { storedChoice } from './storedChoice'

const choice = storedChoice('tsumugiSuggestions', ['on', 'off'])

export const setSuggestions = choice.set

/** Whether questions are suggested after answers. */
export function useSuggestions(): 'on' | 'off' {
  return choice.use() ?? 'on'
}
