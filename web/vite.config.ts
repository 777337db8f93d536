import { fileURLToPath } from 'node:url'
import react from '@vitejs/plugin-react'
import type { Plugin, Rolldown } from 'vite'
import { defineConfig } from 'vitest/config'

const server = process.env.TSUMUGI_DEV_SERVER ?? 'http://127.0.0.1:8080'

const source = (path: string) => fileURLToPath(new URL(`./src/${path}`, import.meta.url)).replace(/\/$/, '')

/** The modules that a page of /home needs first, beside those that every page does: public/start.js loads them early. */
const firstModules = {
  home: 'app/HomeRoute.tsx',
  markdown: 'lib/markdown/Rendered.tsx',
}

/** Puts the names of the files with these modules, and with what they import, at the tag of public/start.js. */
function namesForStart(): Plugin {
  return {
    name: 'names-for-start',
    transformIndexHtml: {
      order: 'post',
      handler(html, { bundle }) {
        const chunks = Object.values(bundle ?? {}).filter((file) => file.type === 'chunk')
        const attributes = Object.entries(firstModules).map(([name, module]) => {
          const chunk = chunks.find(({ moduleIds }) => moduleIds.includes(source(module)))
          if (bundle && !chunk) throw new Error(`no chunk has ${module}`)
          const files = chunk ? filesOf(chunk, chunks).filter((file) => !html.includes(file)) : []
          return `data-${name}="${files.map((file) => `/${file}`).join(' ')}"`
        })
        return html.replace('src="/start.js"', `src="/start.js" ${attributes.join(' ')}`)
      },
    },
  }
}

function filesOf(chunk: Rolldown.OutputChunk, chunks: readonly Rolldown.OutputChunk[]): string[] {
  const needed = new Set([chunk])
  // What is added on the way is visited too.
  for (const { imports } of needed)
    for (const one of chunks) if (imports.includes(one.fileName)) needed.add(one)
  return [...needed].flatMap((one) => [one.fileName, ...(one.viteMetadata?.importedCss ?? [])])
}

export default defineConfig({
  plugins: [react(), namesForStart()],
  resolve: {
    alias: {
      '@': source(''),
      // Carried along by others and not needed here; each file says why.
      'micromark-extension-gfm-footnote': source('lib/markdown/footnotes.ts'),
      'mdast-util-gfm-footnote': source('lib/markdown/footnotes.ts'),
      'mdast-util-to-markdown': source('lib/markdown/unparsed.ts'),
      'markdown-table': source('lib/markdown/unparsed.ts'),
      '@ungap/structured-clone': source('lib/markdown/clone.ts'),
    },
  },
  server: {
    proxy: Object.fromEntries(
      ['/v1', '/pool', '/config.json', '/ping', '/openapi.yaml', '/docs'].map((path) => [path, server]),
    ),
  },
  build: {
    // light-dark(), nesting and :has() are used as they are: browsers since spring 2024.
    target: ['chrome123', 'edge123', 'firefox128', 'safari17.5'],
    // The content security policy allows no data: fonts, so nothing is inlined.
    assetsInlineLimit: 0,
    modulePreload: {
      polyfill: false,
      // What index.html loads is there before anything is imported.
      resolveDependencies: (_, files) =>
        files.filter((file) => !/[\\/](rolldown-runtime|vendor|base)-/.test(file)),
    },
    rolldownOptions: {
      output: {
        // Compiled while they arrive, beside the page. Function by function, as each is first called, would hold the page up.
        postBanner: '//# allFunctionsCalledOnLoad',
        // Few files for the first page: what every page needs, what every page of /home needs, the skill list. The rest (the
        // chat's Markdown, mathematics and colours, the palette, later the admin screens) is split where it is imported.
        codeSplitting: {
          includeDependenciesRecursively: false,
          groups: [
            {
              name: 'vendor',
              test: /vite[\\/]preload-helper|node_modules[\\/](react|react-dom|scheduler|react-router|@tanstack|jotai|openapi-fetch)[\\/]/,
            },
            {
              name: 'base',
              test: /src[\\/](app[\\/](?!HomeRoute)|styles|features[\\/](errors[\\/]|(chat|home|skills|threads)[\\/].*\.css)|components[\\/](?!PasswordRules)|entities[\\/](?!source|identity[\\/](identity[A-Z]|password))|lib[\\/](markdown[\\/].*\.css|(?!api[\\/](admin|dataSources|signIn)|markdown|stream[\\/](?!wake))))|node_modules[\\/]lucide-react[\\/]/,
            },
            {
              name: 'home',
              test: /src[\\/](app[\\/]HomeRoute|features[\\/]((chat|home|skills|threads)[\\/](?!SkillForm)|shortcuts[\\/]Shortcuts)|lib[\\/](stream[\\/]|markdown[\\/](index|Markdown)))|node_modules[\\/]@microsoft[\\/]/,
            },
          ],
        },
      },
    },
  },
  test: {
    environment: 'happy-dom',
    include: ['src/**/*.test.{ts,tsx}'],
    setupFiles: ['src/testSetup.ts'],
    restoreMocks: true,
    // A busy machine must not fail a test that only computes for long.
    testTimeout: 30_000,
    css: false,
  },
})
