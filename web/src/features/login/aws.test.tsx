import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { screen } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { readToken } from '@/entities/identity/token'
import { LoginPage } from './LoginPage'
import { show, stubServer, tidy, way } from './testing'

/** A call to a user pool of AWS, and its answer. */
interface Exchange {
  operation: string
  request: Record<string, unknown>
  status: number
  response: unknown
}

const file = join(import.meta.dirname, '../../../../internal/identity/pool/testdata/aws_mfa.json')
const { sign_ins: signIns } = JSON.parse(readFileSync(file, 'utf8')) as {
  sign_ins: Record<string, Exchange[]>
}

// A Go test checks the exchanges with AWS's own SDK.
describe('a sign-in at a user pool of AWS with MFA', () => {
  let server: ReturnType<typeof stubServer>

  beforeEach(() => {
    server = stubServer()
  })
  afterEach(tidy)

  const user = userEvent.setup()
  const type = async (label: string, text: string) => {
    const field = await screen.findByLabelText(label)
    await user.clear(field)
    await user.type(field, `${text}{Enter}`)
  }

  /** Opens the sign-in page of a server whose user pool answers as recorded, and enters the password. */
  const begin = async (name: string, password: string) => {
    const exchanges = signIns[name] ?? []
    server.replies.push([200, { ...way('cognito'), client_id: '1example23456789' }])
    for (const { operation, status, response } of exchanges) {
      server.replies.push([status, response])
      if (operation === 'AssociateSoftwareToken')
        server.replies.push([200, { image: 'data:image/png;base64,' }])
    }
    show('/login', LoginPage)
    await type('メールアドレス', 'hanako@example.com')
    await type('パスワード', password)
    return () => {
      const asked = server.asked.filter(({ operation }) => !operation.startsWith('/'))
      expect(asked).toEqual(exchanges.map(({ operation, request }) => ({ operation, body: request })))
    }
  }
  const signedIn = async () => {
    expect(await screen.findByText('ホーム')).toBeTruthy()
    expect(readToken()).toMatchObject({ idToken: 'eyJra789ghiEXAMPLE', refreshToken: 'eyJjd123abcEXAMPLE' })
  }

  it('chooses the authenticator app among several factors', async () => {
    const check = await begin('several_factors', 'Sakura-2026-haru')
    await type('確認コード', '111111')
    expect(await screen.findByText(/^確認コードが正しくありません。認証アプリに/)).toBeTruthy()
    expect(screen.queryByText(/回復コード/)).toBeNull()
    await type('確認コード', '222222')
    expect(await screen.findByText(/^この確認コードは使用済みです。/)).toBeTruthy()
    await type('確認コード', '333333')
    await signedIn()
    check()
  })

  it('sets up the app after the new password', async () => {
    const check = await begin('setup_after_new_password', 'Temp-2026-pw!')
    await type('新しいパスワード', 'Jibun-de-3randa')
    await type('確認コード', '111111')
    expect(await screen.findByText(/^確認コードが正しくありません。認証アプリに/)).toBeTruthy()
    await type('確認コード', '222222')
    await signedIn()
    check()
  })

  it('asks for a code after the new password, with which it signs in again if the session expires', async () => {
    const check = await begin('app_after_new_password', 'Temp-2026-pw!')
    await type('新しいパスワード', 'Jibun-de-3randa')
    await type('確認コード', '111111')
    await signedIn()
    check()
  })

  it.each(['text_message', 'setup_without_app', 'code_by_mail', 'choice', 'tracked_device'])(
    'explains that it does not support the factor: %s',
    async (name) => {
      const check = await begin(name, 'Sakura-2026-haru')
      expect(await screen.findByText(/この画面で使えない認証方法（SMSなど）が必要です。/)).toBeTruthy()
      check()
    },
  )
})
