import type { SamlConfig } from '@/lib/api'
import { daysUntil } from '../format'

/** The page shows a warning if a certificate expires within this number of days. */
const WARNING_DAYS = 30

/** The remaining validity of a certificate. */
type Validity = { kind: 'fine' } | { kind: 'expiring' | 'expired'; days: number }

/** The remaining validity of a certificate. */
export function validityOf(notAfter: string, now = Date.now()): Validity {
  const end = Date.parse(notAfter)
  const days = daysUntil(end, now)
  if (end <= now) return { kind: 'expired', days }
  return days < WARNING_DAYS ? { kind: 'expiring', days } : { kind: 'fine' }
}

/** lastDay returns the latest expiry of all certificates, which is the end of sign-in; '' without certificates. */
export function lastDay(config: SamlConfig): string {
  return (
    config.idp_certificates
      .map(({ not_after }) => not_after)
      .sort()
      .at(-1) ?? ''
  )
}

/** The certificates in a pasted text: each PEM block, or the text itself. */
export function splitCertificates(text: string): string[] {
  const blocks = text.match(/-----BEGIN CERTIFICATE-----[\s\S]*?-----END CERTIFICATE-----/g)
  if (blocks) return blocks
  return text.trim() === '' ? [] : [text.trim()]
}

/** A certificate file as text: PEM unchanged, and DER, which many identity providers offer as .cer, as Base64. */
export function certificateText(bytes: Uint8Array): string {
  // A DER certificate is a SEQUENCE with a length of two bytes or more.
  if (bytes[0] !== 0x30 || (bytes[1] ?? 0) < 0x80) return new TextDecoder().decode(bytes).trim()
  let binary = ''
  for (const byte of bytes) binary += String.fromCharCode(byte)
  const lines = btoa(binary).match(/.{1,64}/g) ?? []
  return ['-----BEGIN CERTIFICATE-----', ...lines, '-----END CERTIFICATE-----'].join('\n')
}
