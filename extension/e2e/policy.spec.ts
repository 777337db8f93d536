import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { chromium, expect } from '@playwright/test'
import { Account } from '../../web/e2e/support/account'
import { findBrowser } from '../../web/e2e/support/browser'
import { edgeSettings, forcelistValue } from '../../web/src/features/admin/extension/policies'
import { test } from './browser'

// Where Debian's Chromium reads policies; only root may write there.
const folder = '/etc/chromium/policies/managed'

test('the values of the policies name the extension and the address of the updates that are served', async ({
  server,
}) => {
  const admin = await Account.signIn(server.url, 'admin')
  const extension = await (await admin.call('GET', '/v1/extension')).json()
  const [id = '', address = ''] = forcelistValue(extension).split(';')
  const settings = JSON.parse(edgeSettings(extension))
  expect(settings[id].update_url).toBe(address)
  const updates = await (await fetch(address)).text()
  expect(updates).toContain(`appid="${id}"`)
  const [, codebase = ''] = /codebase="([^"]+)"/.exec(updates) ?? []
  expect((await fetch(codebase)).headers.get('content-type')).toBe('application/x-chrome-extension')
})

test('Chromium installs the signed extension by policy, set to its server', async ({ server }) => {
  const file = join(folder, 'tsumugi-test.json')
  const response = await fetch(`${server.url}/extension/updates.xml`)
  const [, id = ''] = /appid="([a-p]{32})"/.exec(await response.text()) ?? []
  const policy = {
    DeveloperToolsAvailability: 1, // Otherwise nobody may look into an extension that a policy has installed.
    ExtensionInstallForcelist: [`${id};${server.url}/extension/updates.xml`],
    '3rdparty': { extensions: { [id]: { server_url: server.url } } },
  }
  const written = await mkdir(folder, { recursive: true })
    .then(() => writeFile(file, JSON.stringify(policy)))
    .then(
      () => true,
      () => false,
    )
  test.skip(!written, `${folder} is writable for root only`)
  const profile = await mkdtemp(join(tmpdir(), 'tsumugi-policy-'))
  try {
    const context = await chromium.launchPersistentContext(profile, {
      headless: true,
      executablePath: findBrowser(),
      args: ['--no-sandbox'],
      // Playwright's own arguments that forbid extensions, or to fetch them.
      ignoreDefaultArgs: [
        '--disable-extensions',
        '--disable-background-networking',
        '--disable-default-apps',
      ],
    })
    const worker = context.serviceWorkers()[0] ?? (await context.waitForEvent('serviceworker'))
    expect(worker.url()).toBe(`chrome-extension://${id}/worker.js`)
    const page = await context.newPage()
    await page.goto(`chrome-extension://${id}/options.html`)
    await expect(page.getByText(server.url)).toBeVisible()
    await expect(page.getByText(/組織によって設定|set by your organization/)).toBeVisible()
    await context.close()
  } finally {
    await rm(file, { force: true })
    await rm(profile, { recursive: true, force: true })
  }
})
