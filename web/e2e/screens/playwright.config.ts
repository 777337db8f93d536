import { defineConfig } from '@playwright/test'
import base from '../../playwright.config'

/** Takes the screenshots. Run by scripts/screens. */
export default defineConfig({
  ...base,
  testDir: '.',
  testMatch: ['models.ts', 'organization.ts', 'projects.ts', 'screens.ts', 'slack.ts', 'tools.ts'],
  outputDir: '../../test-results',
  globalSetup: '../support/prepare.ts',
  workers: 1,
  timeout: 600_000,
  // A missing button fails the scene at once, not at the end of its time.
  use: { ...base.use, actionTimeout: 120_000 },
})
