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
  ])('%j keeps %i of them', (password, kept) => {
    expect(passwordRules(password).filter((rule) => rule.met)).toHaveLength(kept)
  })
})
