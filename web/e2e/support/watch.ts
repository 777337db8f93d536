import type { BrowserContext } from '@playwright/test'

declare global {
  interface Window {
    /** Set by a script that should never have run. */
    stolen?: boolean
  }
}

/** The browser's messages about failed requests and connections: some tests make them fail on purpose. */
const expected = /^(Failed to load resource|WebSocket connection to )/

/** Whether a console message is from the library in the diagram frame. */
function inSandbox(url: string): boolean {
  return url.startsWith('blob:null/')
}

/**
 * Collects errors that no test may cause in any page of a context: uncaught errors, errors in the console, and
 * violations of the content security policy.
 */
export async function watch(context: BrowserContext): Promise<string[]> {
  const troubles: string[] = []
  context.on('weberror', (error) => troubles.push(`thrown: ${error.error().stack ?? error.error().message}`))
  context.on('console', (message) => {
    if (message.type() === 'error' && !expected.test(message.text()) && !inSandbox(message.location().url))
      troubles.push(`console: ${message.text()}`)
  })
  await context.addInitScript(() => {
    // In the diagram frame the policy blocks what a model's source attempts, as intended.
    if (self.origin === 'null') return
    document.addEventListener('securitypolicyviolation', (event) => {
      reportError(
        new Error(
          `policy: ${event.violatedDirective} ${event.blockedURI} ${event.sourceFile} ${event.sample}`,
        ),
      )
    })
  })
  return troubles
}
