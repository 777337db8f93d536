import { fileURLToPath } from 'node:url'
import react from '@vitejs/plugin-react'
import { defineConfig } from 'vitest/config'

const path = (name: string) => fileURLToPath(new URL(name, import.meta.url))

/**
 * The pages and the worker are modules and are built together. What is injected into a web page is a classic script and
 * has to be one file: `--mode reader` builds it.
 */
export default defineConfig(({ mode }) => ({
  plugins: [react()],
  resolve: {
    alias: [
      { find: '@', replacement: path('../web/src') },
      // Three megabytes for what hardly any answer about a page has: a diagram is shown as its code.
      { find: /^\.\/Diagram$/, replacement: path('./src/panel/NoDiagram.ts') },
    ],
  },
  build: {
    target: 'chrome123',
    assetsInlineLimit: 0,
    modulePreload: false,
    ...(mode === 'reader'
      ? {
          emptyOutDir: false,
          copyPublicDir: false,
          lib: {
            entry: path('./src/reader/main.ts'),
            formats: ['iife'],
            name: 'tsumugiReader',
            fileName: () => 'reader.js',
          },
        }
      : {
          rollupOptions: {
            input: {
              panel: path('./panel.html'),
              options: path('./options.html'),
              worker: path('./src/worker.ts'),
            },
            output: {
              entryFileNames: (chunk) => (chunk.name === 'worker' ? 'worker.js' : 'assets/[name]-[hash].js'),
            },
          },
        }),
  },
  test: {
    environment: 'happy-dom',
    include: ['src/**/*.test.{ts,tsx}'],
    restoreMocks: true,
    testTimeout: 30_000,
    css: false,
  },
}))
