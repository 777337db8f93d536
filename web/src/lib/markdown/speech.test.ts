import { expect, it } from 'vitest'
import { toSpeech } from './speech'

it('reads the words of an answer, without code, formulas, citations and addresses', async () => {
  const text =
    '## 見出し\n\n**営業部**の売上[1]は、[規程](https://example.com/)のとおりです。\n二行目。<ruby>紡<rt>つむぎ</rt></ruby>\n\n' +
    '- 一\n- 二 https://example.com/a\n\n| 部署 | 売上 |\n| --- | --- |\n| 総務 | 3 |\n\n```js\nalert(1)\n```\n\n値は$x^2$です。'
  expect(await toSpeech(text)).toBe(
    '見出し\n営業部の売上は、規程のとおりです。\n二行目。紡\n一\n二\n部署、売上、\n総務、3、\nコード\n値は数式です。',
  )
})
