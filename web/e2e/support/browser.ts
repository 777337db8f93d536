import { accessSync, constants } from 'node:fs'
import { delimiter, isAbsolute, join } from 'node:path'

const names = ['chromium', 'chromium-browser', 'google-chrome']

/** The path of the browser to test in: CHROMIUM, or the first one found in PATH, preferably these. */
export function findBrowser(...preferred: string[]): string {
  for (const name of [process.env.CHROMIUM ?? '', ...preferred, ...names]) {
    const found = name === '' ? undefined : locate(name)
    if (found !== undefined) return found
  }
  throw new Error('No Chromium found: install one, or name it in CHROMIUM.')
}

/** The path of a program; undefined if it is not installed. */
export function locate(name: string): string | undefined {
  const paths = isAbsolute(name)
    ? [name]
    : (process.env.PATH ?? '').split(delimiter).map((dir) => join(dir, name))
  return paths.find((path) => {
    try {
      accessSync(path, constants.X_OK)
      return true
    } catch {
      return false
    }
  })
}
