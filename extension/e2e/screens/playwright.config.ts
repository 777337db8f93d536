import { defineConfig } from '@playwright/test'
import base from '../../playwright.config'

/** Takes the screenshots of the extension for the guides and for the app's page about it. Run by scripts/screens. */
export default defineConfig({
  ...base,
  testDir: '.',
  testMatch: 'screens.ts',
  outputDir: '../../test-results',
  globalSetup: '../../../web/e2e/support/prepare.ts',
})
