import { expect, test } from './support/test'

test('an answer is read aloud by a voice of the device, until it is stopped', async ({
  page,
  chat,
  model,
  question,
}) => {
  model.script(question, { text: '## 見出し\n\n本文です。\n\n```js\nalert(1)\n```', tokens_per_second: -1 })
  await page.addInitScript(() => {
    const spoken: string[] = []
    const voice = { lang: 'ja-JP', localService: true, default: true }
    Object.defineProperty(window, 'SpeechSynthesisUtterance', {
      value: class {
        constructor(readonly text: string) {}
      },
    })
    Object.defineProperty(window, 'speechSynthesis', {
      value: {
        getVoices: () => [voice],
        speak: ({ text }: { text: string }) => spoken.push(text),
        cancel: () => spoken.splice(0),
      },
    })
    Object.assign(window, { spoken })
  })
  const spoken = () => page.evaluate(() => (window as unknown as { spoken: string[] }).spoken)
  await chat.open()
  await chat.ask(question)
  await chat.finished()
  await chat.answer.getByRole('button', { name: 'その他の操作' }).click()
  await page.getByRole('menuitem', { name: '読み上げる' }).click()
  await expect.poll(spoken).toEqual(['見出し', '本文です。', 'コード'])
  await chat.answer.getByRole('button', { name: '読み上げを停止' }).click()
  expect(await spoken()).toEqual([])
  await expect(chat.answer.getByRole('button', { name: '読み上げを停止' })).toHaveCount(0)
})

for (const [local, service] of [
  [true, false],
  [false, false],
  [false, true],
] as const) {
  test(`speech is entered ${local ? 'on the device' : service ? 'by the service that the organization allows' : 'nowhere'}`, async ({
    page,
    chat,
    signIn,
  }) => {
    const admin = await signIn('admin')
    await admin.call('PUT', '/v1/guidance/dictation', { service })
    await page.addInitScript((onDevice) => {
      class Recognition extends EventTarget {
        static available = async ({ processLocally }: { processLocally: boolean }) =>
          processLocally && !onDevice ? 'unavailable' : 'available'
        declare processLocally: boolean
        start() {
          if (this.processLocally !== onDevice) throw new Error('the audio would be sent elsewhere')
          const results = [{ isFinal: true, 0: { transcript: '来週の予定を教えて' } }]
          setTimeout(() =>
            this.dispatchEvent(Object.assign(new Event('result'), { resultIndex: 0, results })),
          )
        }
        stop() {
          this.dispatchEvent(new Event('end'))
        }
      }
      Object.defineProperty(Recognition.prototype, 'processLocally', { value: false, writable: true })
      navigator.mediaDevices.enumerateDevices = async () => [{ kind: 'audioinput' } as MediaDeviceInfo]
      Object.defineProperty(window, 'SpeechRecognition', { value: Recognition })
    }, local)
    await chat.open()
    const button = page.getByRole('button', { name: '音声で入力' })
    if (!local && !service) {
      await expect(chat.composer).toBeVisible()
      await expect(button).toHaveCount(0)
      return
    }
    const label = await button.getAttribute('aria-label')
    expect(label?.includes('音声認識サービスに送られます')).toBe(service)
    await chat.composer.fill('確認です。')
    await button.click()
    await expect(chat.composer).toHaveValue('確認です。来週の予定を教えて')
    await expect(button).toHaveAttribute('aria-pressed', 'true')
    await button.click()
    await expect(button).toHaveAttribute('aria-pressed', 'false')
    await admin.call('PUT', '/v1/guidance/dictation', { service: false })
  })
}
