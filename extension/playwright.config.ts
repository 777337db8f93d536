import { defineConfig } from '@playwright/test'

/**
 * The extension in Debian's Chromium, or the one that CHROMIUM names, with the real server. `npm run build` comes
 * before.
 */
export default defineConfig({
  testDir: './e2e',
  outputDir: './test-results',
  globalSetup: '../web/e2e/support/prepare.ts',
  // Each worker starts a server, a database and a browser; the files are distributed over the workers.
  workers: 2,
  forbidOnly: true,
  timeout: 180_000,
  expect: { timeout: 30_000 },
  retries: 1,
  reporter: 'list',
})
