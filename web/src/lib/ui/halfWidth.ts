/** halfWidth converts the full-width digits, points and signs of a number. */
export function halfWidth(value: string): string {
  return value
    .trim()
    .replace(/[０-９]/g, (digit) => String.fromCharCode(digit.charCodeAt(0) - 0xfee0))
    .replace('．', '.')
    .replace(/[－−]/, '-')
}
