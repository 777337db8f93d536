import { fileURLToPath } from 'node:url'
import react from '@vitejs/plugin-react'
import { defineConfig } from 'vitest/config'

const server = process.env.TSUMUGI_DEV_SERVER ?? 'http://127.0.0.1:8080'

export default defineConfig({
  plugins: [react()],
  resolve: {
    alias: { '@': fileURLToPath(new URL('./src', import.meta.url)) },
  },
  server: {
    proxy: Object.fromEntries(
      ['/v1', '/pool', '/config.json', '/ping', '/openapi.yaml', '/docs'].map((path) => [path, server]),
    ),
  },
  build: {
    // light-dark(), nesting and :has() are used without fallbacks: browsers since spring 2024.
    target: ['chrome123', 'edge123', 'firefox128', 'safari17.5'],
    // The content security policy allows no data: fonts, so nothing is inlined.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    rolldownOptions: {
      output: {
        strictExecutionOrder: true, // The groups below may import each other.
        chunkFileNames: ({ name }) => `assets/${name.replace(/~.*/, '')}-[hash].js`,
        assetFileNames: ({ names }) =>
          `assets/${names[0]?.replace(/~.*(?=\.)|\.[^.]*$/g, '') ?? '[name]'}-[hash][extname]`,
        // Without it every shared icon and style is a file of its own, and a first load takes a hundred requests.
        codeSplitting: {
          groups: [
            // The style sheets of components import nothing, so this file precedes those of the pages.
            { name: 'components', test: /\/src\/components\/.*\.module\.css/, priority: 1 },
            { name: 'shared', minShareCount: 2, entriesAware: true, entriesAwareMergeThreshold: 40_000 },
          ],
        },
      },
    },
  },
  test: {
    environment: 'happy-dom',
    isolate: false, // See src/testSetup.ts.
    unstubGlobals: true,
    include: ['src/**/*.test.{ts,tsx}'],
    setupFiles: ['src/testSetup.ts'],
    restoreMocks: true,
    // Tests that only compute for long must not fail on a busy machine.
    testTimeout: 30_000,
    css: false,
  },
})
