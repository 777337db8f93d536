import { defineConfig } from 'vitest/config'

/** The tests of the transport run against both versions of the AI SDK. */
export default defineConfig({
  test: {
    testTimeout: 60_000,
    projects: [
      ['ai', 'test/*.test.ts'],
      ['ai6', 'test/transport.test.ts'],
    ].map(([ai = '', include = '']) => ({
      extends: true as const,
      resolve: { alias: [{ find: /^ai$/, replacement: ai }] },
      test: { name: ai, include: [include], environment: 'node' },
    })),
  },
})
