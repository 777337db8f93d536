import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { chromium, expect, type Page } from '@playwright/test'
import { Account } from '../../web/e2e/support/account'
import { findBrowser } from '../../web/e2e/support/browser'
import { edgeSettings, forcelistValue } from '../../web/src/features/admin/extension/policies'
import { test } from './browser'

/** The folder of the settings and policies of Debian's Chromium. */
const settings = '/etc/chromium'

/**
 * Writes a program that starts Chromium with a policy. The policy is in a mount namespace of the program, so that
 * browsers of other tests do not read it. "" if the machine does not permit such a namespace.
 */
async function chromiumWith(policy: object, folder: string): Promise<string> {
  await mkdir(join(folder, 'settings', 'policies', 'managed'), { recursive: true })
  await writePolicy(policy, folder)
  const program = join(folder, 'chromium')
  for (const namespace of ['--mount', '--mount --propagation unchanged', '--mount --map-root-user']) {
    const mount = `mount --bind ${join(folder, 'settings')} ${settings}`
    const script = `#!/bin/sh\nexec unshare ${namespace} sh -c '${mount} && exec "$0" "$@"' "${findBrowser()}" "$@"\n`
    await writeFile(program, script, { mode: 0o755 })
    const works = await promisify(execFile)(program, ['--version']).then(
      () => true,
      () => false,
    )
    if (works) return program
  }
  return ''
}

/** Writes the policy, which a running Chromium notices. */
async function writePolicy(policy: object, folder: string): Promise<void> {
  await writeFile(join(folder, 'settings', 'policies', 'managed', 'policy.json'), JSON.stringify(policy))
}

test('the values of the policies contain the extension’s id and the update URL that the server serves', async ({
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

test('Chromium installs the signed extension by policy, which sets its server and may change it', async ({
  server,
}) => {
  const response = await fetch(`${server.url}/extension/updates.xml`)
  const [, id = ''] = /appid="([a-p]{32})"/.exec(await response.text()) ?? []
  const policy = {
    DeveloperToolsAvailability: 1, // Otherwise an extension installed by policy cannot be inspected.
    ExtensionInstallForcelist: [`${id};${server.url}/extension/updates.xml`],
    '3rdparty': { extensions: { [id]: { server_url: server.url } } },
  }
  const folder = await mkdtemp(join(tmpdir(), 'tsumugi-policy-'))
  try {
    const program = await chromiumWith(policy, folder)
    test.skip(program === '', `nothing can be mounted on ${settings} for a single program`)
    const context = await chromium.launchPersistentContext(join(folder, 'profile'), {
      headless: true,
      executablePath: program,
      args: ['--no-sandbox'],
      // Playwright's own arguments that forbid or do not download extensions.
      ignoreDefaultArgs: [
        '--disable-extensions',
        '--disable-background-networking',
        '--disable-default-apps',
      ],
    })
    const worker = context.serviceWorkers()[0] ?? (await context.waitForEvent('serviceworker'))
    expect(worker.url()).toBe(`chrome-extension://${id}/worker.js`)
    // The extension opens its settings when it is installed, in a new tab or an empty one.
    const opened = () => context.pages().find((one) => one.url() === `chrome-extension://${id}/options.html`)
    await expect.poll(() => opened() !== undefined).toBe(true)
    const page = opened() as Page
    await expect(page.getByText(server.url)).toBeVisible()
    await expect(page.getByText(/組織によって設定|set by your organization/)).toBeVisible()

    // Another server by policy: the extension shows it and no longer uses the session at the first one.
    const { idToken } = await Account.signIn(server.url, 'user')
    const grant = {
      origin: server.url,
      accessToken: idToken,
      refreshToken: '',
      expiresAt: Date.now() + 3_000_000,
    }
    const signOut = page.getByRole('button', { name: /^(ログアウト|Sign out)$/ })
    await page.evaluate((value) => chrome.storage.local.set({ grant: value }), grant)
    await expect(signOut).toBeVisible()
    const other = 'https://other.example'
    await writePolicy({ ...policy, '3rdparty': { extensions: { [id]: { server_url: other } } } }, folder)
    await expect(page.getByText(other)).toBeVisible()
    await expect(page.getByText(server.url)).toBeHidden()
    await expect(signOut).toBeHidden()
    await context.close()
  } finally {
    await rm(folder, { recursive: true, force: true, maxRetries: 10 })
  }
})
