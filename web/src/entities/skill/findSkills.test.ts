import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { Skill } from '@/lib/api'
import { findSkills } from './findSkills'
import { GENERAL_CHAT } from './generalChat'

const folder = join(import.meta.dirname, '../../../../internal/skill/builtin')

const skill = (name: string, keywords: string[] = [], description = '') =>
  ({ id: name, name, description, keywords }) as unknown as Skill

/** builtin returns the built-in skills with the fields that the search uses. */
function builtin(): Skill[] {
  return readdirSync(folder)
    .filter((file) => file !== 'categories.yaml')
    .map((file) => readFileSync(join(folder, file), 'utf8'))
    .map((text) => {
      const name = /^name: (.+)$/m.exec(text)?.[1] ?? ''
      const words = /^keywords:\s*\[([^\]]+)\]/m.exec(text)?.[1] ?? ''
      const description = /^description: \|\n((?: {2}.+\n)+)/m.exec(text)?.[1] ?? ''
      return skill(
        name,
        words
          .split(',')
          .map((word) => word.trim())
          .filter(Boolean),
        description,
      )
    })
}

describe('the search for skills', () => {
  it('matches hidden keywords, and puts visible matches first', () => {
    const skills = [skill('翻訳', ['英語', 'メール']), skill('ビジネスメール作成'), skill('壁打ち')]
    expect(findSkills(skills, 'ｅｲｺﾞ')).toEqual([])
    expect(findSkills(skills, '英語').map(({ name }) => name)).toEqual(['翻訳'])
    expect(findSkills(skills, 'めーる').map(({ name }) => name)).toEqual(['ビジネスメール作成', '翻訳'])
    expect(findSkills(skills, '')).toEqual(skills)
  })

  it.each([
    ['英語', '翻訳'],
    ['エクセル', 'Excel・関数の相談'],
    ['プログラム', 'コードの相談'],
    ['会議', '議事録作成'],
    ['添削', '文章校正'],
    ['敬語', '言い換え・敬語'],
    ['プレゼン', '企画書の骨子'],
    ['週報', '日報・報告書'],
    ['面接', '1on1・面談の準備'],
    ['募集', '求人票作成'],
    ['お礼', 'ビジネスメール作成'],
    ['ニュース', 'ウェブ検索'],
    ['略語', '用語の説明'],
    ['ネーミング', 'アイデア出し'],
    ['契約書', '文書に質問'],
    ['ダイジェスト', '要約'],
    ['悩み', '壁打ち'],
    ['なんでも', '汎用チャット'],
  ])('finds by %s the built-in skill %s first', (query, name) => {
    expect(findSkills(builtin(), query)[0]?.name).toBe(name)
  })

  it('finds the general chat by its id', () => {
    expect(readFileSync(join(folder, 'chat.yaml'), 'utf8')).toContain(`id: ${GENERAL_CHAT}\n`)
  })
})
