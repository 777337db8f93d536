import { expect, it, vi } from 'vitest'
import { Dictation } from './dictation'

/** Begins a dictation with a fake of a browser that must install its recognition first. */
function begin() {
  const started = vi.fn<() => void>()
  let finish = () => {}
  const installed = new Promise<boolean>((resolve) => {
    finish = () => resolve(true)
  })
  class Recognition extends EventTarget {
    static available = () => Promise.resolve('downloadable')
    static install = () => installed
    set processLocally(_: boolean) {}
    start = started
  }
  vi.stubGlobal('SpeechRecognition', Recognition)
  const controller = new AbortController()
  const begun = Dictation.begin(
    'device',
    controller.signal,
    () => {},
    () => {},
  )
  return { begun, started, controller, finish }
}

it('begins when the browser has installed its recognition', async () => {
  const { begun, started, finish } = begin()
  finish()
  await begun
  expect(started).toHaveBeenCalledOnce()
})

it('does not begin after it was canceled during the installation', async () => {
  const { begun, started, controller, finish } = begin()
  controller.abort()
  finish()
  await expect(begun).rejects.toThrow()
  expect(started).not.toHaveBeenCalled()
})
