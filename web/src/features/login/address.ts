import { texts } from './texts'

/** The entered address with full-width letters converted to ASCII; or what is wrong with it. */
export function readAddress(entered: string): { address: string; error?: undefined } | { error: string } {
  const address = entered.normalize('NFKC').trim()
  if (address === '') return { error: texts.emailRequired }
  if (!/^[^\s@]+@[^\s@]+$/.test(address)) return { error: texts.emailInvalid }
  return { address }
}
