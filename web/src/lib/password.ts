/** One rule that a password keeps or does not. */
export interface PasswordRule {
  label: string
  met: boolean
}

/** The identity provider's default policy, each rule with whether this password keeps it. */
export function passwordRules(password: string): PasswordRule[] {
  return [
    { label: '8文字以上', met: [...password].length >= 8 },
    { label: '英大文字を含む', met: /[A-Z]/.test(password) },
    { label: '英小文字を含む', met: /[a-z]/.test(password) },
    { label: '数字を含む', met: /[0-9]/.test(password) },
    { label: '記号を含む', met: /[\^$*.[\]{}()?\-"!@#%&/\\,><':;|_~`+=]|\S \S/.test(password) },
  ]
}
