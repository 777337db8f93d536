import { describe, expect, it, vi } from 'vitest'
import { copyRich } from './clipboard'

/** A fake clipboard with its content. */
function clipboard(refuses = false) {
  const written: Record<string, string> = {}
  class Item {
    constructor(readonly parts: Record<string, Blob | Promise<Blob>>) {}
  }
  const write = async ([item]: [Item]) => {
    for (const [type, blob] of Object.entries(item.parts)) {
      const text = await (await blob).text()
      if (refuses) throw new Error('NotAllowedError')
      written[type] = text
    }
  }
  const writeText = async (text: string) => {
    written.text = text
  }
  vi.stubGlobal('navigator', { clipboard: { write, writeText } })
  vi.stubGlobal('ClipboardItem', Item)
  return written
}

describe('copying', () => {
  it('offers HTML in addition to the text', async () => {
    const written = clipboard()
    await copyRich('# 題', Promise.resolve('<h1>題</h1>'))
    expect(written).toEqual({ 'text/plain': '# 題', 'text/html': '<h1>題</h1>' })
  })

  it('copies only the text if HTML is refused or cannot be created', async () => {
    const refused = clipboard(true)
    await copyRich('題', Promise.resolve('<p>題</p>'))
    expect(refused.text).toBe('題')
    const broken = clipboard()
    await copyRich('題', Promise.reject(new Error('offline')))
    expect(broken.text).toBe('題')
  })

  it('fails without a clipboard', async () => {
    vi.stubGlobal('navigator', {})
    await expect(copyRich('題', Promise.resolve(''))).rejects.toThrow()
  })
})
