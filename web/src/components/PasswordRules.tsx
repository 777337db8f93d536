import { Check } from 'lucide-react'
import { type ComponentProps, useState } from 'react'
import { type PasswordOwner, passwordRules } from '@/entities/identity/password'
import { cx } from '@/lib/ui/cx'
import { PasswordField } from './Field'
import styles from './PasswordRules.module.css'

type FieldProps = Omit<ComponentProps<typeof PasswordField>, 'hint' | 'name' | 'autoComplete' | 'onChange'>

/** A field for a new password, with the rules below it. It holds its own value. */
export function NewPasswordField({
  owner,
  onChange,
  ...rest
}: FieldProps & { owner: PasswordOwner; onChange: () => void }) {
  const [password, setPassword] = useState('')
  return (
    <PasswordField
      {...rest}
      hint={<PasswordRules password={password} {...owner} />}
      name="new-password"
      autoComplete="new-password"
      onChange={(event) => {
        setPassword(event.target.value)
        onChange()
      }}
    />
  )
}

/** The rules for a new password. Each has a tick while it is met. */
function PasswordRules({ password, ...owner }: { password: string } & PasswordOwner) {
  return (
    <>
      <ul className={styles.rules} aria-label="パスワードの条件">
        {passwordRules(password, owner).map((rule) => (
          <li key={rule.label} className={cx(rule.met && styles.met)}>
            <span className={styles.tick} aria-hidden>
              {rule.met && <Check size={12} strokeWidth={2} />}
            </span>
            {rule.label}
            <span className="visually-hidden">
              {rule.met ? '（満たしています）' : '（まだ満たしていません）'}
            </span>
          </li>
        ))}
      </ul>
      <p className={styles.note}>よく使われるパスワードは設定できません。</p>
    </>
  )
}
