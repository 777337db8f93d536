import { afterEach, expect, test, vi } from 'vitest'
import { chooseFiles } from './chooseFiles'

afterEach(() => vi.restoreAllMocks())

const choosers = () => document.querySelectorAll('input[type="file"]')

test('the element of the file picker is in the document until files are chosen or the picker is closed', () => {
  const click = vi.spyOn(HTMLInputElement.prototype, 'click').mockImplementation(() => {})
  for (const event of ['change', 'cancel']) {
    const onFiles = vi.fn()
    chooseFiles({ accept: '.pdf', multiple: true }, onFiles)
    const [chooser] = choosers()
    expect(click.mock.contexts.at(-1)).toBe(chooser)
    expect(chooser).toMatchObject({ accept: '.pdf', multiple: true, hidden: true })
    chooser?.dispatchEvent(new Event(event))
    expect(choosers()).toHaveLength(0)
    expect(onFiles).toHaveBeenCalledTimes(event === 'change' ? 1 : 0)
  }
})
