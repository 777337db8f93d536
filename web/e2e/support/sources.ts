import { expect, type Locator, type Page } from '@playwright/test'
import type { components } from '../../src/lib/api/schema.gen'
import type { Account } from './account'

/** A data source of the API. */
type DataSource = components['schemas']['DataSource']

/** The rows of the table of data sources. */
export const rows = (page: Page): Locator => page.getByRole('main').locator('tbody tr')

export const row = (page: Page, name: string): Locator => rows(page).filter({ hasText: name })

export async function openSources(page: Page, search = ''): Promise<void> {
  await page.goto(`/home/data-source${search}`)
  await expect(page.getByRole('heading', { level: 1, name: 'ファイル' })).toBeVisible()
}

export async function listSources(account: Account): Promise<DataSource[]> {
  const response = await account.call('GET', '/v1/data-source?limit=100')
  return ((await response.json()) as { items: DataSource[] }).items
}

/** Deletes the data sources of earlier tests. */
export async function deleteSources(account: Account): Promise<void> {
  for (const { id } of await listSources(account)) await account.call('DELETE', `/v1/data-source/${id}`)
}

/** Uploads a file outside the browser. */
export async function upload(
  url: string,
  account: Account,
  name: string,
  content: string | Buffer,
): Promise<DataSource> {
  const body = new FormData()
  body.append('file', new Blob([content as BlobPart]), name)
  const headers = { Authorization: `Bearer ${account.idToken}` }
  const response = await fetch(`${url}/v1/data-source/file`, { method: 'POST', headers, body })
  const text = await response.text()
  expect(response.status, text).toBe(201)
  return JSON.parse(text) as DataSource
}

/** Uploads a file outside the browser, and waits until it is parsed. */
export async function uploadRead(
  url: string,
  account: Account,
  name: string,
  content: string | Buffer,
): Promise<DataSource> {
  const { id } = await upload(url, account, name, content)
  const find = async () => (await (await account.call('GET', `/v1/data-source/${id}`)).json()) as DataSource
  await expect.poll(async () => (await find()).status).toBe('success')
  return find()
}

/** Drags files over an element and drops them there. */
export async function drop(
  page: Page,
  selector: string,
  name: string,
  content: string | Buffer,
): Promise<void> {
  const dataTransfer = await page.evaluateHandle(
    async ([name, base64]) => {
      const bytes = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0))
      const transfer = new DataTransfer()
      transfer.items.add(new File([bytes], name))
      return transfer
    },
    [name, Buffer.from(content).toString('base64')] as const,
  )
  for (const type of ['dragover', 'drop']) await page.dispatchEvent(selector, type, { dataTransfer })
}
