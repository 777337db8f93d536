/** The code in the input or link: six digits, also full-width ones; '' if there is none. */
export function readCode(entered: string): string {
  const code = entered.normalize('NFKC').replace(/[\s-]/g, '')
  return /^\d{6}$/.test(code) ? code : ''
}
