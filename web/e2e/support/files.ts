import { expect } from '@playwright/test'
import type { components } from '../../src/lib/api/schema.gen'
import type { Account } from './account'

type DataSource = components['schemas']['DataSource']

/** An account's data sources, newest first. */
export async function listFiles(account: Account): Promise<DataSource[]> {
  const response = await account.call('GET', '/v1/data-source?limit=100')
  return ((await response.json()) as { items: DataSource[] }).items
}

/** Uploads a file outside the browser, and waits until it is parsed. */
export async function uploadFile(
  url: string,
  account: Account,
  name: string,
  content: Buffer | string,
): Promise<DataSource> {
  const body = new FormData()
  body.append('file', new Blob([typeof content === 'string' ? content : new Uint8Array(content)]), name)
  const headers = { Authorization: `Bearer ${account.idToken}` }
  const response = await fetch(`${url}/v1/data-source/file`, { method: 'POST', headers, body })
  const { id } = (await response.json()) as DataSource
  const find = async () => (await listFiles(account)).find((source) => source.id === id)
  await expect.poll(async () => (await find())?.status, { timeout: 90_000 }).toBe('success')
  return (await find()) as DataSource
}
