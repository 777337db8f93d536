import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import react from '@vitejs/plugin-react'
import type { Plugin } from 'vite'
import { defineConfig } from 'vitest/config'

const server = process.env.TSUMUGI_DEV_SERVER ?? 'http://127.0.0.1:8080'

/** The icons of all skills in one picture, so that a page loads them with one request. */
function skillIcons(): string {
  const folder = fileURLToPath(new URL('./public/icons/skills/', import.meta.url))
  const icons = readdirSync(folder).map((file, at) => {
    const place = `x="${at * 48}" width="48" height="48"`
    const icon = readFileSync(folder + file, 'utf8').replace('xmlns="http://www.w3.org/2000/svg"', place)
    return `<view id="${file.replace('.svg', '')}" viewBox="${at * 48} 0 48 48"/>${icon}`
  })
  return `<svg xmlns="http://www.w3.org/2000/svg" width="48" height="48">${icons.join('')}</svg>`
}

/** Adds the file that SkillIcon shows. */
const skillIconsFile: Plugin = {
  name: 'skill-icons',
  generateBundle() {
    this.emitFile({ type: 'asset', fileName: 'icons/skills.svg', source: skillIcons() })
  },
  configureServer({ middlewares }) {
    middlewares.use('/icons/skills.svg', (_, response) => {
      response.setHeader('Content-Type', 'image/svg+xml').end(skillIcons())
    })
  },
}

/** The shared parts of the sign-in, the settings and the administration, which other pages do not load. */
const notEverywhere =
  'FactorSetup|RecoveryCodes|PasswordRules|inputs|form\\.ts|signIn|dictation|connection/connections|identity/(identity[AM]|passkey)|thread/toolCalls|toolInputs'

/** rareIcons are icons that one module of the chat, or the menu of the administration, uses. */
const rareIcons =
  'arrow-up-right|brain|camera|corner-down-right|git-branch|image-plus|languages|message-circle-(dashed|question)|mic|' +
  'pencil-line|share-2|shield-question-mark|shield-question|unplug|upload|volume-2|file-down|' +
  'activity|cpu|megaphone|message-square-text|puzzle|scroll-text|user-round-cog'

export default defineConfig({
  plugins: [react(), skillIconsFile],
  resolve: {
    alias: { '@': fileURLToPath(new URL('./src', import.meta.url)) },
  },
  server: {
    proxy: Object.fromEntries(
      ['/v1', '/pool', '/scim', '/config.json', '/ping', '/openapi.yaml', '/docs'].map((path) => [
        path,
        server,
      ]),
    ),
  },
  build: {
    // light-dark(), nesting and :has() are used without fallbacks: browsers since spring 2024.
    target: ['chrome123', 'edge123', 'firefox128', 'safari17.5'],
    // The content security policy allows no data: fonts, so nothing is inlined.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 600, // The part that every page needs.
    rolldownOptions: {
      output: {
        chunkFileNames: ({ name }) => `assets/${name.replace(/~.*/, '')}-[hash].js`,
        assetFileNames: ({ names }) =>
          `assets/${names[0]?.replace(/~.*(?=\.)|\.[^.]*$/g, '') ?? '[name]'}-[hash][extname]`,
        // Without groups, each shared icon and style would be a separate file, and a first load would take 100 requests.
        // A group contains the static imports of its modules, unless an earlier group has them.
        codeSplitting: {
          groups: [
            {
              name: 'app',
              test: new RegExp(
                `/src/(app/main|lib/markdown/(code|diagram|tools)\\.module|(components|entities|lib/(api|browser|live|ui))/(?!${notEverywhere}))|/lucide-react/dist/esm/(?!lucide-react|icons/index|icons/(${rareIcons})\\.)`,
              ),
            },
            { name: 'layout', test: /\/src\/app\/HomeRoute/ },
            { name: 'home', test: /\/src\/app\/home\.ts/ },
            { name: 'Rendered', test: /\/src\/lib\/markdown\/Rendered/ },
          ],
        },
      },
    },
  },
  test: {
    environment: 'happy-dom',
    isolate: false, // See src/testSetup.ts.
    maxWorkers: '100%', // Otherwise one processor stays idle.
    unstubGlobals: true,
    include: ['src/**/*.test.{ts,tsx}'],
    setupFiles: ['src/testSetup.ts'],
    restoreMocks: true,
    // Tests that only compute for long must not fail on a busy machine.
    testTimeout: 120_000,
    css: false,
  },
})
