/** readCode returns the code of six digits in an input or link, or ''. Full-width digits are converted to ASCII. */
export function readCode(entered: string): string {
  const code = entered.normalize('NFKC').replace(/[\s-]/g, '')
  return /^\d{6}$/.test(code) ? code : ''
}
