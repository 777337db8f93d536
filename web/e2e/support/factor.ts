import { createHmac } from 'node:crypto'
import { expect, type Page } from '@playwright/test'

/** The code of an authenticator app (RFC 6238), a number of time steps from now. */
export function codeOf(secret: string, steps = 0): string {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'
  const bits = [...secret].map((c) => alphabet.indexOf(c).toString(2).padStart(5, '0')).join('')
  const key = Buffer.from((bits.match(/.{8}/g) ?? []).map((octet) => Number.parseInt(octet, 2)))
  const counter = Buffer.alloc(8)
  counter.writeBigUInt64BE(BigInt(Math.floor(Date.now() / 30_000) + steps))
  const mac = createHmac('sha1', key).update(counter).digest()
  const value = mac.readUInt32BE((mac.at(-1) ?? 0) & 15) & 0x7fffffff
  return String(value % 1_000_000).padStart(6, '0')
}

/** Reads the secret below the QR code. */
export async function secretOf(page: Page): Promise<string> {
  await expect(page.getByRole('img', { name: '認証アプリで読み取るQRコード' })).toBeVisible()
  return ((await page.locator('main code').textContent()) ?? '').replace(/\s/g, '')
}
