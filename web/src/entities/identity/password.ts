/** One password rule, and whether it is met. */
interface PasswordRule {
  label: string
  met: boolean
}

/** The owner of the password, as far as known. */
export interface PasswordOwner {
  email?: string
  name?: string
  /** The password to replace. */
  previous?: string
}

/** The minimum length of the parts of an address or a name that the password must not contain, as on the server. */
const PERSONAL = 4

/**
 * The identity provider's rules, and whether this password meets them. They apply to the normalized form: full-width
 * letters count as letters. Only the server knows which passwords are too common.
 */
export function passwordRules(typed: string, owner: PasswordOwner = {}): PasswordRule[] {
  const password = typed.normalize('NFKC')
  const rules = [
    { label: '8文字以上', met: [...password].length >= 8 },
    { label: '英大文字を含む', met: /[A-Z]/.test(password) },
    { label: '英小文字を含む', met: /[a-z]/.test(password) },
    { label: '数字を含む', met: /[0-9]/.test(password) },
    { label: '記号を含む', met: /[\^$*.[\]{}()?\-"!@#%&/\\,><':;|_~`+=]|\S \S/.test(password) },
  ]
  if (owner.email || owner.name)
    rules.push({
      label: 'メールアドレスや名前を含まない',
      met: password !== '' && !isPersonal(password, owner),
    })
  if (owner.previous !== undefined)
    rules.push({
      label: '現在と異なる',
      met: password !== '' && password !== owner.previous.normalize('NFKC'),
    })
  return rules
}

/** meetsRules reports whether a password meets all rules. */
export function meetsRules(typed: string, owner: PasswordOwner): boolean {
  return passwordRules(typed, owner).every(({ met }) => met)
}

function isPersonal(password: string, { email = '', name = '' }: PasswordOwner): boolean {
  const folded = fold(password)
  const words = fold(name).split(/\s+/)
  const parts = [...words, words.join(''), fold(email), fold(email).split('@')[0] ?? '']
  return parts.some((part) => [...part].length >= PERSONAL && folded.includes(part))
}

function fold(text: string): string {
  return text.trim().normalize('NFKC').toLowerCase()
}
