import { defineConfig } from 'vitest/config'

/** The same tests against both versions of the AI SDK. */
export default defineConfig({
  test: {
    testTimeout: 60_000,
    projects: ['ai', 'ai6'].map((ai) => ({
      extends: true as const,
      resolve: { alias: [{ find: /^ai$/, replacement: ai }] },
      test: { name: ai, include: ['test/*.test.ts'], environment: 'node' },
    })),
  },
})
