import type { SamlConfig } from '@/lib/api'
import { daysUntil } from '../format'

/** How many days before a certificate's end its owner is told. */
export const WARNING_DAYS = 30

/** How long a certificate still holds. */
export type Validity = { kind: 'fine' } | { kind: 'expiring' | 'expired'; days: number }

/** How long a certificate still holds. */
export function validityOf(notAfter: string, now = Date.now()): Validity {
  const end = Date.parse(notAfter)
  const days = daysUntil(end, now)
  if (end <= now) return { kind: 'expired', days }
  return days < WARNING_DAYS ? { kind: 'expiring', days } : { kind: 'fine' }
}

/** The end of the certificate that holds longest: until then people can sign in. '' if there is none. */
export function lastDay(config: SamlConfig): string {
  return (
    config.idp_certificates
      .map(({ not_after }) => not_after)
      .sort()
      .at(-1) ?? ''
  )
}

/** The certificates of a pasted text: each PEM block for itself, or the one that the text is. */
export function splitCertificates(text: string): string[] {
  const blocks = text.match(/-----BEGIN CERTIFICATE-----[\s\S]*?-----END CERTIFICATE-----/g)
  if (blocks) return blocks
  return text.trim() === '' ? [] : [text.trim()]
}

/** A certificate file as text: PEM as it is, and DER, which many identity providers hand out as .cer, as Base64. */
export function certificateText(bytes: Uint8Array): string {
  // A DER certificate is a SEQUENCE with a length of two bytes or more.
  if (bytes[0] !== 0x30 || (bytes[1] ?? 0) < 0x80) return new TextDecoder().decode(bytes).trim()
  let binary = ''
  for (const byte of bytes) binary += String.fromCharCode(byte)
  const lines = btoa(binary).match(/.{1,64}/g) ?? []
  return ['-----BEGIN CERTIFICATE-----', ...lines, '-----END CERTIFICATE-----'].join('\n')
}
