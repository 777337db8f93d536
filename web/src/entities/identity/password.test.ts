import { describe, expect, it } from 'vitest'
import { passwordRules } from './password'

describe('the password rules', () => {
  it.each([
    ['', 0],
    ['abcdefgh', 2],
    ['Abcdefg1', 4],
    ['Abcdef1!', 5],
    ['Abcdef1 x', 5],
    [' Abcdef12', 4],
    ['日本語のパスワード', 1],
  ])('%j meets %i of them', (password, kept) => {
    expect(passwordRules(password).filter((rule) => rule.met)).toHaveLength(kept)
  })

  it('accept full-width letters as letters', () => {
    expect(passwordRules('Ａｂｃｄｅｆ１！').every((rule) => rule.met)).toBe(true)
  })

  it.each([
    ['Hanako.Yamada-1', false],
    ['x-ＹＡＭＡＤＡ-2026', false],
    ['山田花子-Aa1', false],
    ['Sakura-2026', true],
    ['Taro-2026-xx', true],
    ['', false],
  ])('search for the address and the name in %j', (password, met) => {
    const owner = { email: 'hanako.yamada@example.co.jp', name: '山田花子 Yamada' }
    const rule = passwordRules(password, owner).find(
      ({ label }) => label === 'メールアドレスや名前を含まない',
    )
    expect(rule?.met).toBe(met)
  })

  it('require a password that differs from the current one', () => {
    const differs = (password: string) =>
      passwordRules(password, { previous: 'Sakura-2026' }).find(({ label }) => label === '現在と異なる')?.met
    expect(differs('Sakura-2026')).toBe(false)
    expect(differs('Ｓakura-2026')).toBe(false)
    expect(differs('Momiji-2026')).toBe(true)
  })
})
