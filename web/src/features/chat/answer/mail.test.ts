import { describe, expect, it } from 'vitest'
import { readMail } from './mail'

const body = '株式会社山川商事\n佐藤様\n\nいつもお世話になっております。\n・10日までにお願いします。'

describe('a mail in an answer', () => {
  it.each([
    ['as the skill writes it', `**件名:** 納期のご相談\n\n${body}`],
    ['with a label for its text', `件名：納期のご相談\n\n本文：\n${body}`],
    ['with bold labels', `**件名**：納期のご相談\n\n**本文**\n\n${body}\n\n---\n送る前の確認\n- 【日時】`],
    ['after a sentence', `次の文面はいかがでしょうか。\n\n---\n\n## 件名: **納期のご相談**\n---\n${body}`],
  ])('%s', (_, answer) => {
    expect(readMail(answer)).toEqual({ subject: '納期のご相談', body })
  })

  it('has no emphasis syntax', () => {
    expect(readMail('件名: 件\n\n**10日**まで')?.body).toBe('10日まで')
  })

  it.each(['件名の付け方を説明します。', '件名：だけ', `${'長い説明です。'.repeat(40)}\n件名：例\n\n本文`])(
    'is none: %s',
    (answer) => {
      expect(readMail(answer)).toBeNull()
    },
  )
})
