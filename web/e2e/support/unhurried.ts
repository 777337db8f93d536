import type { BrowserContext } from '@playwright/test'

/**
 * Makes toasts, and the time to undo, ten times as long in all pages of a context, because tests on a slow machine are
 * slower than a user.
 */
export async function unhurried(context: BrowserContext): Promise<void> {
  await context.addInitScript(() => {
    const inTime = window.setTimeout.bind(window)
    // The durations are defined in src/lib/ui/toast.ts.
    const hurried = [5000, 6000, 8000]
    const wait = (run: TimerHandler, ms = 0, ...rest: unknown[]) =>
      inTime(run, hurried.includes(ms) ? ms * 10 : ms, ...rest)
    window.setTimeout = wait as typeof window.setTimeout
  })
}
