import { cleanup, configure } from '@testing-library/react'
import { afterEach, vi } from 'vitest'

// Tests that wait for lazily loaded chunks must not fail on a busy machine.
configure({ asyncUtilTimeout: 10_000 })

// Test files run in the same processes, because a process and a document for each file take longer than the tests. This
// is run for each file: it gets its own modules, and empty storage.
vi.resetModules()
localStorage.clear()
sessionStorage.clear()
afterEach(() => {
  cleanup()
  vi.useRealTimers()
})

// KaTeX checks this once, and happy-dom's documents have no doctype.
Object.defineProperty(document, 'compatMode', { value: 'CSS1Compat', configurable: true })
