import { texts } from './texts'

/** readAddress converts the full-width letters of an entered address to ASCII. It returns an error text if invalid. */
export function readAddress(entered: string): { address: string; error?: undefined } | { error: string } {
  const address = entered.normalize('NFKC').trim()
  if (address === '') return { error: texts.emailRequired }
  if (!/^[^\s@]+@[^\s@]+$/.test(address)) return { error: texts.emailInvalid }
  return { address }
}
