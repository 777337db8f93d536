import { defineConfig } from 'vitest/config'

/** The tests of the transport run against both versions of the AI SDK. */
export default defineConfig({
  test: {
    testTimeout: 60_000,
    maxWorkers: '100%', // Otherwise one processor stays idle.
    projects: [
      { ai: 'ai', include: ['test/*.test.ts'] },
      { ai: 'ai6', include: ['test/transport.test.ts', 'test/approval.test.ts'] },
    ].map(({ ai, include }) => ({
      extends: true as const,
      resolve: { alias: [{ find: /^ai$/, replacement: ai }] },
      test: { name: ai, include, environment: 'node' },
    })),
  },
})
