import { expect } from '@playwright/test'
import OpenAI, { APIError } from 'openai'
import type { components } from '../../src/lib/api/schema.gen'
import type { Account } from './account'

type Token = components['schemas']['PersonalToken']

/** A personal access token of a user's. */
export async function tokenOf(account: Account, ...scopes: string[]): Promise<Token> {
  const expires_on = new Date(Date.now() + 5 * 86_400_000).toISOString().slice(0, 10)
  const request_id = crypto.randomUUID()
  const body = { request_id, name: '集計', scopes, expires_on }
  const answer = await account.call('POST', '/v1/connection/token', body)
  return (await answer.json()) as Token
}

/** OpenAI's own client. It does not retry, so that each test sees the server's response. */
export async function clientOf(url: string, account: Account): Promise<OpenAI> {
  const { token } = await tokenOf(account, 'chat')
  return new OpenAI({ baseURL: `${url}/v1`, apiKey: token, maxRetries: 0 })
}

/** The id of a skill as a model. */
export const skill = '汎用チャット'

/** Returns the error of a rejected call. */
export async function errorOf(call: Promise<unknown>): Promise<APIError> {
  const error = await call.then(
    () => null,
    (cause: unknown) => cause,
  )
  expect(error).toBeInstanceOf(APIError)
  return error as APIError
}
