import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { describe, expect, it } from 'vitest'
import { type Block, GrowingText, splitBlocks } from './split'

const document = `# 見出し

最初の段落です。
続きの行。

- 一つ目
- 二つ目

  項目の続き

1. 番号
2. 番号

| 列 | 値 |
| --- | --- |
| あ | 1 |

\`\`\`ts
const a = 1

// 空行の後
\`\`\`

> 引用
> 続き

$$
E = mc^2

x
$$

前文
\\[
a + b
\\]
後文

[ref]: https://example.com

    字下げのコード

題
---

終わり`

const sources = (blocks: readonly Block[]) => blocks.map((block) => block.source.trimEnd())

describe('splitBlocks', () => {
  it('keeps every character except blank lines', () => {
    const squeeze = (text: string) => text.replace(/\n+/g, '\n').trim()
    const blocks = splitBlocks(document)
    expect(squeeze(blocks.map((block) => block.source).join('\n'))).toBe(squeeze(document))
    for (const block of blocks) {
      expect(document.slice(block.start, block.start + block.source.length)).toBe(block.source)
    }
  })

  it('keeps lists, tables, fences and mathematics whole', () => {
    const blocks = splitBlocks(document)
    expect(sources(blocks)).toContain('$$\nE = mc^2\n\nx\n$$')
    expect(sources(blocks)).toContain('\\[\na + b\n\\]')
    expect(blocks.filter((block) => block.kind === 'math')).toHaveLength(2)
    expect(blocks.filter((block) => block.kind === 'code')).toHaveLength(2)
    expect(sources(blocks)).toContain('- 一つ目\n- 二つ目\n\n  項目の続き\n\n1. 番号\n2. 番号')
  })

  it('leaves mathematics within a sentence in the sentence', () => {
    for (const text of ['\\[a\\] と b', '値は $$x$$ です', '$$x$$ です', '価格は $5 です']) {
      expect(splitBlocks(text)).toEqual([{ start: 0, source: text, kind: 'text' }])
    }
    expect(splitBlocks('$$x$$')[0]?.kind).toBe('math')
    expect(splitBlocks('\\[x\\]\n')[0]?.kind).toBe('math')
  })

  it('accepts all kinds of line breaks', () => {
    expect(sources(splitBlocks('a\r\n\r\nb\rc'))).toEqual(['a', 'b\nc'])
  })
})

describe('GrowingText', () => {
  it('returns for every prefix the same blocks as a new split', () => {
    const odd = [
      'a\n\n    b\n\n- c\n\n    d\n\n\n    e\nf\n===\ng\n',
      '> a\nb\n\n> c\n```\nd\n',
      '- a\n\n\n- b\n\n1. c\n\nd\n---\n',
    ]
    for (const text of [document, ...odd]) {
      const growing = new GrowingText()
      for (let length = 0; length <= text.length; length++) {
        const prefix = text.slice(0, length)
        expect(growing.update(prefix), JSON.stringify(prefix)).toEqual(new GrowingText().update(prefix))
      }
    }
  })

  it('agrees with the complete text at its end, except for unclosed mathematics', () => {
    expect(new GrowingText().update(document)).toEqual(splitBlocks(document))
    const open = '前\n\n$$\nx\n\n後'
    expect(new GrowingText().update(open).map((block) => block.kind)).toEqual(['text', 'math'])
    expect(splitBlocks(open).map((block) => block.kind)).toEqual(['text', 'text', 'text'])
  })

  it('returns the same objects for settled blocks', () => {
    const growing = new GrowingText()
    const before = growing.update('一\n\n二\n\n三')
    const after = growing.update('一\n\n二\n\n三です\n\n四')
    expect(after).toHaveLength(4)
    expect(after[0]).toBe(before[0])
  })

  it('stores a text once, not once per block', () => {
    setFlagsFromString('--expose-gc')
    const collect: () => void = runInNewContext('gc')
    const held = () => {
      collect()
      return process.memoryUsage().heapUsed
    }
    const growing = new GrowingText()
    const before = held()
    let text = ''
    for (let i = 0; i < 1000; i++) {
      text += `これは${i}番目の段落です。会議の要点を、順を追って分かりやすくまとめます。\n\n`
      growing.update(text)
    }
    expect(growing.update(text)).toHaveLength(1000)
    expect(held() - before).toBeLessThan(5_000_000) // One text per block would be 38 MB.
  })

  it('starts over for another text', () => {
    const growing = new GrowingText()
    growing.update('一\n\n二\n\n三')
    expect(sources(growing.update('別\n\n物'))).toEqual(['別', '物'])
    expect(growing.update('')).toEqual([])
  })
})

describe('one block', () => {
  it.each<[string, readonly string[]]>([
    ['- a\n\n  b\n\n- c\n\nd', ['- a\n\n  b\n\n- c', 'd']],
    ['- a\n```\nx\n```\n- b', ['- a', '```\nx\n```', '- b']],
    ['- a\n  ```\n  x\n\n  y\n  ```\n- b', ['- a\n  ```\n  x\n\n  y\n  ```\n- b']],
    ['1. a\n\n   $$\n   x\n   $$\n\n2. b', ['1. a\n\n   $$\n   x\n   $$\n\n2. b']],
    ['a\n# b\nc\n## d\ne', ['a', '# b', 'c', '## d', 'e']],
    ['a\n===\nb', ['a\n===\nb']],
    ['***\na', ['***\na']],
    ['* * *\n\na', ['* * *', 'a']],
    ['~~~\n```\n\n~~~\na', ['~~~\n```\n\n~~~', 'a']],
    ['````\n```\n\n````\n', ['````\n```\n\n````']],
    ['``` a`b ```\nc', ['``` a`b ```\nc']],
    ['    a\n\n    b\nc', ['    a\n\n    b', 'c']],
    ['| a |\n|---|\n| b |\n\nc', ['| a |\n|---|\n| b |', 'c']],
    ['$$ a $$\nb', ['$$ a $$', 'b']],
    ['$$a$$ は b\n\n$$c', ['$$a$$ は b', '$$c']],
    ['a\n$$\nb\n\n$$ c', ['a\n$$\nb', '$$ c']],
  ])('%j', (text, expected) => {
    expect(sources(splitBlocks(text))).toEqual(expected)
  })
})
