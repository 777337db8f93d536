import { fileURLToPath } from 'node:url'

/** The folder of the project. */
export const root = fileURLToPath(new URL('../../..', import.meta.url))

/** The program under test, or the one in E2E_BINARY. */
export const tsumugi = process.env.E2E_BINARY ?? `${root}bin/tsumugi`

/** Compiled code that all servers share. */
export const compiled = process.env.TSUMUGI_CACHE ?? `${root}.cache/e2e/compiled`

/** The scripted model provider, built before the tests. */
export const fakeModel = `${root}.cache/e2e/fakemodel`

/** The identity provider for single sign-on, built before the tests. */
export const fakeIdp = `${root}.cache/e2e/fakeidp`

/** The fake Slack workspace, built before the tests. */
export const fakeSlack = `${root}.cache/e2e/fakeslack`

/** The tool server with OAuth, built by the test that needs it. */
export const fakeTools = `${root}.cache/e2e/faketools`

/** The search server, and a build of the program that reads its pages, built by the tests that need them. */
export const fakeSearch = `${root}.cache/e2e/fakesearch`
export const readsFakePages = `${root}.cache/e2e/tsumugi-fakepages`

/** A build of the program whose tools all need an approval, built by the tests that need it. */
export const asksForTools = `${root}.cache/e2e/tsumugi-asktools`

/** The data folder of a server after its first start, created before the tests. */
export const seed = `${root}.cache/e2e/seed`

/** The golden streams of package stream's tests. */
export const goldenStreams = `${root}stream/testdata`
