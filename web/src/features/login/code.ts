/** The code in what somebody has entered or followed: six digits, full-width ones too; '' if there is none. */
export function readCode(entered: string): string {
  const code = entered.normalize('NFKC').replace(/[\s-]/g, '')
  return /^\d{6}$/.test(code) ? code : ''
}
