import { defineConfig } from '@playwright/test'

/**
 * The extension in Debian's Chromium, or the one that CHROMIUM names, with the real server. `npm run build` comes
 * before.
 */
export default defineConfig({
  testDir: './e2e',
  outputDir: './test-results',
  globalSetup: '../web/e2e/support/prepare.ts',
  workers: 1,
  forbidOnly: true,
  timeout: 180_000,
  expect: { timeout: 30_000 },
  retries: 1,
  reporter: 'list',
})
