import type { Page } from '@playwright/test'
import { Child } from './child'
import { fakeIdp } from './paths'

/** The password of all users at the identity provider. */
const password = 'secret'

/** A user at the identity provider. */
interface Person {
  readonly login: string
  readonly email: string
  readonly name: string
}

/** An identity provider: test/fakes/idp. */
export class Idp {
  readonly #child: Child
  readonly url: string
  /** The attributes with the address and the name. */
  readonly attributes: { readonly email: string; readonly name: string }

  private constructor(child: Child, url: string, email: string, name: string) {
    this.#child = child
    this.url = url
    this.attributes = { email, name }
  }

  static async start(people: readonly Person[]): Promise<Idp> {
    const users = people.flatMap(({ login, email, name }) => [
      '--user',
      [login, password, email, name].join(':'),
    ])
    const child = new Child(fakeIdp, ['--listen', '127.0.0.1:0', ...users])
    const said = await child.says(/(http:\S+)\/metadata\s+address:\s+(\S+)\s+name:\s+(\S+)/)
    const [, url = '', email = '', name = ''] = said
    return new Idp(child, url, email, name)
  }

  stop(): Promise<void> {
    return this.#child.end()
  }

  /** The values for an administrator. */
  async metadata(): Promise<string> {
    return (await fetch(`${this.url}/metadata`)).text()
  }

  /** Signs a user in on the provider's page, which must be open. */
  async enter(page: Page, { login }: Person): Promise<void> {
    await page.waitForURL(`${this.url}/**`)
    await page.getByPlaceholder('user').fill(login)
    await page.getByPlaceholder('password').fill(password)
    await page.getByRole('button', { name: 'Log In' }).click()
  }
}
