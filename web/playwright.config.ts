import { defineConfig } from '@playwright/test'
import { findBrowser } from './e2e/support/browser'

/** The browser tests: the real binary, a real database, and Debian's Chromium or the browser that CHROMIUM names. */
export default defineConfig({
  testDir: './e2e',
  outputDir: './test-results',
  globalSetup: './e2e/support/prepare.ts',
  // Each worker runs a server of its own; test files are distributed over the workers.
  workers: 2,
  forbidOnly: true,
  // Ample for a busy machine: only a failing test waits that long.
  timeout: 180_000,
  expect: { timeout: 45_000 },
  // A whole product on a shared machine: tests that pass only at the second attempt are listed at the end.
  retries: 1,
  reporter: 'list',
  use: {
    locale: 'ja-JP',
    timezoneId: 'Asia/Tokyo',
    viewport: { width: 1280, height: 800 },
    colorScheme: 'light',
    // Animations are drawn by the processor. The tests of the places of menus set their own value.
    contextOptions: { reducedMotion: 'reduce' },
    screenshot: 'only-on-failure',
    permissions: ['clipboard-read', 'clipboard-write'],
    launchOptions: {
      // It has no user interface, so pages take much less of the processor.
      executablePath: findBrowser('chromium-headless-shell'),
      // Chromium's sandbox refuses to start as root, which is what a container has.
      args: ['--no-sandbox', '--disable-dev-shm-usage'],
    },
  },
})
