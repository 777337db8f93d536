import type { SamlConfig } from '@/lib/api'
import { formatFull } from '@/lib/ui/dates'
import { saml } from '../texts'
import { validityOf } from './certificates'
import styles from './Saml.module.css'

const words = saml.idp

/** The accepted signing certificates of the identity provider, and their expiry. */
export function Certificates({ certificates }: { certificates: SamlConfig['idp_certificates'] }) {
  return (
    <ul className={styles.certificates}>
      {certificates.map((item) => (
        <li key={item.fingerprint_sha256}>
          <dl>
            <dt>{words.subject}</dt>
            <dd>{item.subject}</dd>
            <dt>{words.notAfter}</dt>
            <dd>
              {formatFull(item.not_after)} <Left notAfter={item.not_after} />
            </dd>
            <dt>{words.fingerprint}</dt>
            <dd>
              <code className={styles.code}>{item.fingerprint_sha256}</code>
            </dd>
          </dl>
        </li>
      ))}
    </ul>
  )
}

function Left({ notAfter }: { notAfter: string }) {
  const validity = validityOf(notAfter)
  if (validity.kind === 'fine') return null
  return (
    <span className={styles.left} data-kind={validity.kind}>
      {validity.kind === 'expired' ? words.expired : words.expiring(validity.days)}
    </span>
  )
}
