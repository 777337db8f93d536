import { describe, expect, it } from 'vitest'
import { mailUrl, readMail } from './mail'

const body = '株式会社山川商事\n佐藤様\n\nいつもお世話になっております。\n・10日までにお願いします。'
const subject = '納期のご相談'

describe('a mail in an answer', () => {
  it.each([
    ['as the skill writes it', `**件名:** ${subject}\n\n${body}`, {}],
    ['with a label for its text', `件名：${subject}\n\n本文：\n${body}`, {}],
    [
      'with bold labels',
      `**件名**：${subject}\n\n**本文**\n\n${body}\n\n---\n送る前の確認\n- 【日時】`,
      { after: '送る前の確認\n- 【日時】' },
    ],
    [
      'after a sentence',
      `次の文面はいかがでしょうか。\n\n---\n\n## 件名: **${subject}**\n---\n${body}`,
      { before: '次の文面はいかがでしょうか。' },
    ],
    [
      'in a fence',
      `次のとおりです。\n\n\`\`\`mail\n件名: ${subject}\n\n${body}\n\`\`\`\n\n以上です。`,
      { before: '次のとおりです。', after: '以上です。' },
    ],
  ])('%s', (_, answer, around) => {
    expect(readMail(answer)).toEqual({ subject, body, before: '', after: '', ...around })
  })

  it('has no emphasis syntax', () => {
    expect(readMail('件名: 件\n\n**10日**まで')?.body).toBe('10日まで')
  })

  it.each([
    '件名の付け方を説明します。',
    '件名：だけ',
    '件名：表\n\n| 部署 | 売上 |\n| --- | --- |',
    `${'長い説明です。'.repeat(40)}\n件名：例\n\n本文`,
  ])('is none: %s', (answer) => {
    expect(readMail(answer)).toBeNull()
  })

  it.each([
    `**件名:** ${subject}\n\n${body.replace('10日', '**10日**')}\n\n---\n確認`,
    `\`\`\`mail\n件名: ${subject}\n\n${body}\n\`\`\`\n`,
  ])('only grows while it is written: %j', (answer) => {
    let last = ''
    for (let end = 1; end <= answer.length; end++) {
      const mail = readMail(answer.slice(0, end), true)
      if (last !== '') expect(mail?.subject).toBe(subject)
      const now = mail?.body ?? ''
      expect(now.startsWith(last)).toBe(true)
      last = now
    }
    expect(last).toBe(body)
  })

  it('opens the mail program, without a body that would be cut off', () => {
    const mail = { subject: '件 & 名', body: '一行目\n二行目', before: '', after: '' }
    const { url } = mailUrl(mail)
    const params = new URLSearchParams(url.replace('mailto:?', ''))
    expect([params.get('subject'), params.get('body')]).toEqual(['件 & 名', '一行目\r\n二行目'])
    expect(mailUrl({ ...mail, body: 'あ'.repeat(300) }, 2000)).toEqual({
      url: `mailto:?subject=${encodeURIComponent('件 & 名')}`,
      complete: false,
    })
  })
})
