import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { store } from '@/lib/ui/store'
import { dismissToast, toastsAtom } from '@/lib/ui/toast'
import { refuseStrayFiles } from './strayFiles'

const messages = () => store.get(toastsAtom).map((item) => item.message)

function fire(type: string, data: object, target: EventTarget = document.body): Event {
  const event = new Event(type, { bubbles: true, cancelable: true })
  target.dispatchEvent(Object.assign(event, data))
  return event
}

const file = { types: ['Files'], files: [new File([''], 'a.png')] }

describe('files that no component accepts', () => {
  let stop: () => void
  beforeEach(() => {
    vi.useFakeTimers()
    for (const { id } of store.get(toastsAtom)) dismissToast(id)
    stop = refuseStrayFiles(window)
  })
  afterEach(() => stop())

  it('are not opened by the browser when dropped, and cause a message', () => {
    expect(fire('dragover', { dataTransfer: file }).defaultPrevented).toBe(true)
    expect(fire('drop', { dataTransfer: file }).defaultPrevented).toBe(true)
    expect(messages()).toEqual([expect.stringContaining('ここではファイルや画像を使用できません。')])
  })

  it('cause no message if a component accepts them, and text is not a file', () => {
    const take = (event: Event) => event.preventDefault()
    document.body.addEventListener('drop', take)
    fire('drop', { dataTransfer: file })
    document.body.removeEventListener('drop', take)
    const field = document.body.appendChild(Object.assign(document.createElement('input'), { type: 'file' }))
    expect(fire('drop', { dataTransfer: file }, field).defaultPrevented).toBe(false)
    field.remove()
    expect(fire('drop', { dataTransfer: { types: ['text/plain'] } }).defaultPrevented).toBe(false)
    expect(messages()).toEqual([])
  })

  it('are refused when pasted, unless the clipboard also has text or a component accepts them', () => {
    fire('paste', { clipboardData: { ...file, types: ['Files', 'text/plain'] } })
    fire('paste', { clipboardData: file }).preventDefault()
    vi.runAllTimers()
    expect(messages()).toEqual([])
    fire('paste', { clipboardData: file })
    vi.runAllTimers()
    expect(messages()).toHaveLength(1)
  })
})
