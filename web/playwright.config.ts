import { defineConfig } from '@playwright/test'
import { findBrowser } from './e2e/support/browser'

/** The browser tests: the real binary, a real database, and Debian's Chromium or the one that CHROMIUM names. */
export default defineConfig({
  testDir: './e2e',
  outputDir: './test-results',
  globalSetup: './e2e/support/prepare.ts',
  // Each worker runs a server of its own; the files of tests share them out.
  workers: 2,
  forbidOnly: true,
  // Ample for a busy machine: only a test that fails waits so long.
  timeout: 180_000,
  expect: { timeout: 45_000 },
  // A whole product on a machine that does other things as well: what passes only at the second try is told by name at the end.
  retries: 1,
  reporter: 'list',
  use: {
    locale: 'ja-JP',
    timezoneId: 'Asia/Tokyo',
    viewport: { width: 1280, height: 800 },
    colorScheme: 'light',
    screenshot: 'only-on-failure',
    permissions: ['clipboard-read', 'clipboard-write'],
    launchOptions: {
      executablePath: findBrowser(),
      // Chromium's sandbox refuses to start as root, which is what a container has.
      args: ['--no-sandbox', '--disable-dev-shm-usage'],
    },
  },
})
