import type { components } from '../../src/lib/api/schema.gen'
import { password } from './tsumugi'

type Schemas = components['schemas']

/** The demo users, by role. */
export const emails = { user: 'user@demo.example', admin: 'admin@demo.example' } as const

/** One of the demo users. */
export type Who = keyof typeof emails

/** A demo user outside the browser: signs in like the app, and calls the API. */
export class Account {
  readonly #url: string
  /** The app's local storage, by key. */
  readonly storage: Readonly<Record<string, string>>
  readonly idToken: string

  private constructor(url: string, storage: Record<string, string>, idToken: string) {
    this.#url = url
    this.storage = storage
    this.idToken = idToken
  }

  /** Signs in a demo user, or the user with an address and the password of the demo users. */
  static async signIn(url: string, who: Who | `${string}@${string}`): Promise<Account> {
    const email = who === 'user' || who === 'admin' ? emails[who] : who
    const headers = { 'Content-Type': 'application/json' }
    const asked = await fetch(`${url}/v1/auth-type`, {
      method: 'POST',
      headers,
      body: JSON.stringify({ email }),
    })
    const way = (await asked.json()) as Schemas['AuthType']
    const endpoint = new URL(way.endpoint, url).href
    const answered = await fetch(endpoint, {
      method: 'POST',
      headers: {
        'Content-Type': 'application/x-amz-json-1.1',
        'X-Amz-Target': 'AWSCognitoIdentityProviderService.InitiateAuth',
      },
      body: JSON.stringify({
        AuthFlow: 'USER_PASSWORD_AUTH',
        ClientId: way.client_id,
        AuthParameters: { USERNAME: email, PASSWORD: password },
      }),
    })
    const { AuthenticationResult: tokens, ChallengeName: challenge } = (await answered.json()) as {
      ChallengeName?: string
      AuthenticationResult?: Record<'IdToken' | 'AccessToken' | 'RefreshToken' | 'TokenType', string> & {
        ExpiresIn: number
      }
    }
    if (tokens === undefined) throw new Error(`${email} cannot sign in: ${challenge ?? answered.status}`)
    const record = {
      authType: way.auth_type,
      clientId: way.client_id,
      refreshToken: tokens.RefreshToken,
      idToken: tokens.IdToken,
      accessToken: tokens.AccessToken,
      expiresIn: tokens.ExpiresIn,
      tokenType: tokens.TokenType,
    }
    // Suggestions change the number of tokens after the end of an answer.
    const storage = { tsumugiToken: JSON.stringify(record), tsumugiSuggestions: 'off' }
    return new Account(url, storage, tokens.IdToken)
  }

  /** Reports whether the session is still valid. */
  async isSignedIn(): Promise<boolean> {
    const headers = { Authorization: `Bearer ${this.idToken}` }
    return (await fetch(`${this.#url}/v1/me`, { headers })).ok
  }

  /** A call to the API as this user. */
  async call(method: string, path: string, body?: unknown): Promise<Response> {
    const response = await fetch(this.#url + path, {
      method,
      headers: { Authorization: `Bearer ${this.idToken}`, 'Content-Type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`)
    return response
  }

  async #list<T>(path: string): Promise<T[]> {
    return ((await (await this.call('GET', path)).json()) as { items: T[] }).items
  }

  skills(): Promise<Schemas['Skill'][]> {
    return this.#list('/v1/skill?limit=100')
  }

  async skill(name: string): Promise<Schemas['Skill']> {
    const found = (await this.skills()).find((skill) => skill.name === name)
    if (found === undefined) throw new Error(`there is no skill ${name}`)
    return found
  }

  threads(): Promise<Schemas['Thread'][]> {
    return this.#list('/v1/thread?limit=100')
  }

  async newThread(skill: string, title?: string): Promise<Schemas['Thread']> {
    const body = {
      request_id: crypto.randomUUID(),
      skill_id: (await this.skill(skill)).id,
      ...(title && { title }),
    }
    return (await (await this.call('POST', '/v1/thread', body)).json()) as Schemas['Thread']
  }

  /** A thread's messages, oldest first. */
  async messages(threadId: string): Promise<Schemas['Message'][]> {
    return (await this.#list<Schemas['Message']>(`/v1/message?thread_id=${threadId}&limit=100`)).reverse()
  }

  /** Asks in a thread and returns the completed answer. */
  async ask(threadId: string, content: string): Promise<Schemas['Message']> {
    await this.call('POST', '/v1/message/sync', {
      request_id: crypto.randomUUID(),
      thread_id: threadId,
      content,
    })
    const answer = (await this.messages(threadId)).at(-1)
    if (answer === undefined) throw new Error('there is no answer')
    return answer
  }

  async setFavorite(skill: string): Promise<void> {
    await this.call('POST', '/v1/favorite_skill', { skill_id: (await this.skill(skill)).id })
  }

  /** Marks all notices as read. */
  async readNotices(): Promise<void> {
    const ids = (await this.#list<{ id: string }>('/v1/notification')).map(({ id }) => id)
    await this.call('PUT', '/v1/notification/read', { ids })
  }

  /** Removes the threads and favourites of earlier tests. */
  async reset(): Promise<void> {
    for (const thread of await this.threads()) await this.call('DELETE', `/v1/thread/${thread.id}`)
    for (const skill of await this.#list<{ id: string }>('/v1/favorite_skill?limit=100'))
      await this.call('DELETE', '/v1/favorite_skill', { skill_id: skill.id })
  }
}
