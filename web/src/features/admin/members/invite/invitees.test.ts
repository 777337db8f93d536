import { describe, expect, it } from 'vitest'
import { decodeText, readCsv } from './csv'
import { type Invitee, MOST_INVITEES, readInvitees, roleOf } from './invitees'

const read = (text: string, mayGrant = true) => readInvitees(text, { role: 'general-user', mayGrant })
const brief = ({ email, name, role, error }: Invitee) => [email, name, role, error]

describe('the text of a file', () => {
  const sjis = Uint8Array.of(0x97, 0xe9, 0x96, 0xd8, 0x2c, 0x61) // 鈴木,a

  it.each([
    ['UTF-8', new TextEncoder().encode('鈴木,a')],
    ['UTF-8 with a mark', Uint8Array.of(0xef, 0xbb, 0xbf, ...new TextEncoder().encode('鈴木,a'))],
    ['Shift_JIS', sjis],
    ['UTF-16', Uint8Array.of(0xff, 0xfe, 0x34, 0x92, 0x28, 0x67, 0x2c, 0, 0x61, 0)],
  ])('is read from %s', (_, bytes) => {
    expect(decodeText(bytes)).toBe('鈴木,a')
  })

  it('is rejected for a picture or a workbook', () => {
    expect(() => decodeText(Uint8Array.of(0x50, 0x4b, 3, 4, 0x14, 0, 8, 0))).toThrow(TypeError)
    expect(() => decodeText(Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 0xff, 0xfd))).toThrow(TypeError)
  })
})

describe('the lines of a table', () => {
  it('keep quoted cells together, and have line numbers', () => {
    expect(readCsv('a,"b, ""c""\nd",e\r\n\r\n , \nf;g\n')).toEqual([
      { line: 1, cells: ['a', 'b, "c"\nd', 'e'] },
      { line: 5, cells: ['f', 'g'] },
    ])
  })

  it('are separated by tabs if there are any', () => {
    expect(readCsv('a, b\tc')).toEqual([{ line: 1, cells: ['a, b', 'c'] }])
    expect(readCsv('a,"b\tc"\nd,e')).toEqual([
      { line: 1, cells: ['a', 'b\tc'] },
      { line: 2, cells: ['d', 'e'] },
    ])
  })

  it('end with the text, even within a quote', () => {
    expect(readCsv('"a,b')).toEqual([{ line: 1, cells: ['a,b'] }])
    expect(readCsv('')).toEqual([])
  })
})

describe('a list of people', () => {
  it('is parsed in any order without a heading', () => {
    const text = [
      'hanako@example.co.jp, 鈴木　花子, 管理者',
      '山田 太郎,taro@example.co.jp',
      '一般ユーザー,佐藤,次郎,jiro@example.co.jp',
      '高橋 三郎 <saburo@example.co.jp>',
      'shiro@example.co.jp',
    ].join('\n')
    expect(read(text).map(brief)).toEqual([
      ['hanako@example.co.jp', '鈴木 花子', 'organization-admin', undefined],
      ['taro@example.co.jp', '山田 太郎', 'general-user', undefined],
      ['jiro@example.co.jp', '佐藤 次郎', 'general-user', undefined],
      ['saburo@example.co.jp', '高橋 三郎', 'general-user', undefined],
      ['shiro@example.co.jp', 'shiro', 'general-user', undefined],
    ])
    expect(read(text).map((item) => item.assumedName)).toEqual([false, false, false, false, true])
  })

  it('is parsed by its heading', () => {
    const text = '社員番号\t姓\t名\t権限\tメールアドレス\n001\t鈴木\t花子\t特権管理者\thanako@example.co.jp'
    expect(read(text).map(brief)).toEqual([
      ['hanako@example.co.jp', '鈴木 花子', 'organization-super-admin', undefined],
    ])
    expect(read('Email,Name,Role\na@example.com,A,user').map(brief)).toEqual([
      ['a@example.com', 'A', 'general-user', undefined],
    ])
  })

  it('accepts full-width addresses', () => {
    expect(read('ｈａｎａｋｏ＠example.co.jp，鈴木').map(brief)).toEqual([
      ['hanako@example.co.jp', '鈴木', 'general-user', undefined],
    ])
  })

  it('has an error for each invalid line', () => {
    const text = `鈴木 花子\na@b\nA@example.com,A\na@example.com,B\nc@example.com,${'長'.repeat(101)}\nd@example.com,D\u202e`
    expect(read(text).map(({ line, error }) => [line, error])).toEqual([
      [1, 'メールアドレスがありません。'],
      [2, 'メールアドレスの形式が正しくありません。'],
      [3, undefined],
      [4, '3行目と同じアドレスです。'],
      [5, '名前は100文字以内で入力してください。'],
      [6, '名前に使えない文字が含まれています。'],
    ])
    expect(read(`a@${'long.'.repeat(24)}example`)[0]?.error).toBe('メールアドレスの形式が正しくありません。')
    expect(read('email,role\na@example.com,部長')[0]?.error).toBe('「部長」という役割はありません。')
  })

  it('has an error for a line with several people, who would not all be invited', () => {
    for (const line of [
      'a@example.com; b@example.com',
      '鈴木 花子 <a@example.com>, 山田 太郎 <b@example.com>',
      'a@example.com b@example.com',
    ])
      expect(read(line).map(({ error }) => error)).toEqual([
        'メールアドレスが2件以上あります。1行に1名ずつ入力してください。',
      ])
    // Another address in a column that is not used.
    expect(read('メールアドレス,名前,上長\na@example.com,A,b@example.com').map(brief)).toEqual([
      ['a@example.com', 'A', 'general-user', undefined],
    ])
  })

  it('prefers a column of addresses to one of user names', () => {
    expect(read('ユーザー名,メールアドレス\n鈴木 花子,a@example.com').map(brief)).toEqual([
      ['a@example.com', '鈴木 花子', 'general-user', undefined],
    ])
    expect(read('ユーザー名,氏名\na@example.com,鈴木 花子').map(brief)).toEqual([
      ['a@example.com', '鈴木 花子', 'general-user', undefined],
    ])
  })

  it('grants no administrators’ roles for users who may not', () => {
    expect(read('a@example.com,A,管理者', false)[0]?.error).toBe(
      '管理者の役割を付けられるのは、特権管理者だけです。',
    )
  })

  it('may have a column of other roles if they have no effect', () => {
    const list = 'メールアドレス,区分\nhanako@example.co.jp,正社員'
    expect(read(list)[0]?.error).toBeDefined()
    const options = { role: 'general-user', mayGrant: true, ignoreRoles: true } as const
    expect(readInvitees(list, options).map(brief)).toEqual([
      ['hanako@example.co.jp', 'hanako', 'general-user', undefined],
    ])
  })

  it('has a maximum length', () => {
    const text = Array.from({ length: MOST_INVITEES + 1 }, (_, at) => `u${at}@example.com`).join('\n')
    const people = read(text)
    expect(people.filter((item) => item.error)).toHaveLength(1)
    expect(people.at(-1)?.error).toBe('一度に招待できるのは1,000名までです。')
  })
})

describe('the name of a role', () => {
  it.each([
    ['General User', 'general-user'],
    ['メンバー', 'general-user'],
    ['管理者', 'organization-admin'],
    ['organization_admin', 'organization-admin'],
    ['特権管理者', 'organization-super-admin'],
    ['Super Admin', 'organization-super-admin'],
    ['system-admin', null],
    ['部長', null],
  ])('%s is %s', (word, role) => {
    expect(roleOf(word)).toBe(role)
  })
})
