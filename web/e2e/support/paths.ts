import { fileURLToPath } from 'node:url'

/** The folder of the project. */
export const root = fileURLToPath(new URL('../../..', import.meta.url))

/** The program under test; E2E_BINARY names another one. */
export const tsumugi = process.env.E2E_BINARY ?? `${root}bin/tsumugi`

/** The scripted model provider, built before the tests. */
export const fakeModel = `${root}.cache/e2e/fakemodel`

/** The identity provider for single sign-on, built before the tests. */
export const fakeIdp = `${root}.cache/e2e/fakeidp`

/** The streams that package stream's tests keep byte for byte. */
export const goldenStreams = `${root}stream/testdata`
