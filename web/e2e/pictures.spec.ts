import { writeFile } from 'node:fs/promises'
import type { Locator, Page } from '@playwright/test'
import { breaches } from './support/inspect'
import { test as base, expect, seeing } from './support/test'

const strip = (page: Page): Locator => page.getByRole('list', { name: '質問に使う画像' })
const asked = (question: Locator): Locator => question.getByRole('list', { name: '質問に添えた画像' })
const viewer = (page: Page): Locator => page.getByRole('dialog', { name: '画像の拡大表示' })

/** Draws a picture in the page, in a format of its choice. */
async function draw(page: Page, width: number, height: number, type = 'image/png'): Promise<Buffer> {
  const url = await page.evaluate(
    ([width, height, type]) => {
      const canvas = Object.assign(document.createElement('canvas'), { width, height })
      const context = canvas.getContext('2d')
      if (context === null) throw new Error('no canvas')
      context.fillStyle = '#1f4e79'
      context.fillRect(0, 0, width, height)
      context.fillStyle = '#fbfaf7'
      context.fillRect(width / 8, height / 8, width / 3, height / 2)
      return canvas.toDataURL(type, 0.9)
    },
    [width, height, type] as const,
  )
  return Buffer.from(url.split(',')[1] ?? '', 'base64')
}

/** Passes files to the page as its clipboard does, or drops them on the composer. */
async function give(
  page: Page,
  how: 'paste' | 'drop',
  files: readonly { name: string; type: string; content: Buffer }[],
): Promise<void> {
  const transfer = await page.evaluateHandle(
    (files) => {
      const transfer = new DataTransfer()
      for (const { name, type, content } of files) {
        const bytes = Uint8Array.from(atob(content), (char) => char.charCodeAt(0))
        transfer.items.add(new File([bytes], name, { type }))
      }
      return transfer
    },
    files.map(({ content, ...file }) => ({ ...file, content: content.toString('base64') })),
  )
  if (how === 'paste') {
    await page.evaluate((clipboardData) => {
      const target = document.activeElement ?? document.body
      target.dispatchEvent(new ClipboardEvent('paste', { clipboardData, bubbles: true, cancelable: true }))
    }, transfer)
    return
  }
  for (const type of ['dragover', 'drop'])
    await page.locator('[data-composer]').dispatchEvent(type, { dataTransfer: transfer })
}

const png = (content: Buffer, name = '画面.png') => ({ name, type: 'image/png', content })

seeing.describe('pictures in questions', () => {
  seeing(
    'are pasted, dropped and chosen, and the model is shown them',
    async ({ page, chat, model, question }, info) => {
      model.script(question, { pictures: true })
      await chat.open()
      await chat.composer.focus()
      await give(page, 'paste', [png(await draw(page, 640, 400))])
      await expect(strip(page).getByRole('button', { name: '画像1を拡大' })).toBeVisible()
      await give(page, 'drop', [
        { name: '写真.webp', type: 'image/webp', content: await draw(page, 300, 500, 'image/webp') },
      ])
      await expect(strip(page).getByRole('button', { name: '画像2を拡大' })).toBeVisible()
      const large = info.outputPath('大きな写真.jpg')
      await writeFile(large, await draw(page, 3000, 1500, 'image/jpeg'))
      await page.getByRole('button', { name: 'ファイルや画像を追加' }).click()
      const chooser = page.waitForEvent('filechooser')
      await page.getByRole('dialog').getByRole('button', { name: '画像を追加' }).click()
      await (await chooser).setFiles(large)
      await expect(strip(page).getByRole('button', { name: '画像3を拡大' })).toBeVisible()
      expect(await breaches(page)).toEqual([])

      // Pictures are sent with the question, and outlive a reload.
      await expect(chat.send).toBeDisabled()
      await page.reload()
      await expect(strip(page).getByRole('listitem')).toHaveCount(3)
      await strip(page).getByRole('button', { name: '画像2を外す' }).click()
      await expect(strip(page).getByRole('listitem')).toHaveCount(2)
      await expect(chat.composer).toBeFocused()

      await chat.ask(question)
      await expect(strip(page)).toBeHidden()
      await chat.finished()
      await expect(chat.answer).toContainText('画像を2枚受け取りました。')
      await expect(chat.answer).toContainText('image/png 640×400')
      await expect(chat.answer).toContainText('image/jpeg 2048×1024')
      await page.reload()
      await expect(asked(chat.questions.last()).getByRole('button')).toHaveCount(2)
      expect(await breaches(page)).toEqual([])
    },
  )

  seeing(
    'open large, turn by the arrows, and close with the focus where it was',
    async ({ page, chat, model, question }) => {
      model.script(question, { pictures: true })
      await chat.open()
      await give(page, 'drop', [png(await draw(page, 640, 400)), png(await draw(page, 200, 300))])
      await expect(strip(page).getByRole('button', { name: '画像2を拡大' })).toBeVisible()
      await chat.ask(question)
      await chat.finished()
      const first = asked(chat.questions.last()).getByRole('button', { name: '画像1を拡大' })
      await first.click()
      await expect(viewer(page).getByRole('img')).toHaveAttribute('alt', '質問に添えた画像（2枚中1枚目）')
      expect(await breaches(page)).toEqual([])
      await page.keyboard.press('ArrowRight')
      await expect(viewer(page).getByRole('img')).toHaveAttribute('alt', '質問に添えた画像（2枚中2枚目）')
      const saved = page.waitForEvent('download')
      await viewer(page).getByRole('button', { name: '画像を保存' }).click()
      expect((await saved).suggestedFilename()).toBe('画像2.png')
      await page.keyboard.press('Escape')
      await expect(viewer(page)).toBeHidden()
      await expect(first).toBeFocused()
    },
  )

  seeing(
    'stay with an edited question, and may be taken out of it',
    async ({ page, chat, model, question }) => {
      model.script(question, { pictures: true })
      await chat.open()
      await give(page, 'drop', [png(await draw(page, 640, 400)), png(await draw(page, 200, 300))])
      await expect(strip(page).getByRole('button', { name: '画像2を拡大' })).toBeVisible()
      await chat.ask(question)
      await chat.finished()
      await page.getByRole('button', { name: '質問を編集' }).click()
      const edit = chat.questions.last()
      const chooser = page.waitForEvent('filechooser')
      await edit.getByRole('button', { name: '画像を追加' }).click()
      await page.getByRole('dialog').getByRole('button', { name: '画像を追加' }).click()
      const added = { name: '追加.png', mimeType: 'image/png', buffer: await draw(page, 90, 60) }
      await (await chooser).setFiles(added)
      await expect(edit.getByRole('button', { name: '画像3を外す' })).toBeVisible()
      // Pasted and dropped pictures belong to the edited question, except in the composer.
      await edit.getByRole('textbox', { name: '質問の編集' }).focus()
      await give(page, 'paste', [png(await draw(page, 91, 60))])
      await expect(edit.getByRole('button', { name: '画像4を外す' })).toBeVisible()
      await give(page, 'drop', [png(await draw(page, 92, 60))])
      await expect(edit.getByRole('button', { name: '画像5を外す' })).toBeVisible()
      await give(page, 'drop', [
        { name: '手順書.pdf', type: 'application/pdf', content: Buffer.from('%PDF') },
      ])
      await expect(page.getByText('質問の編集では、ファイルを添付できません。')).toBeVisible()
      const composed = page.locator('form:has([data-composer])')
      await composed.getByRole('textbox').focus()
      await give(page, 'paste', [png(await draw(page, 93, 60))])
      await expect(composed.getByRole('button', { name: /画像.を外す/ })).toHaveCount(1)
      await composed.getByRole('button', { name: '画像1を外す' }).click()
      // What was added to a canceled edit is not in the next one.
      await edit.getByRole('button', { name: 'キャンセル' }).click()
      await page.getByRole('button', { name: '質問を編集' }).click()
      await expect(edit.getByRole('button', { name: /画像.を外す/ })).toHaveCount(2)
      await edit.getByRole('button', { name: '画像1を外す' }).click()
      await expect(edit.getByRole('textbox', { name: '質問の編集' })).toBeFocused()
      await edit.getByRole('button', { name: '送信' }).click()
      await expect(chat.answer).toContainText('画像を1枚受け取りました。')
      await expect(chat.answer).toContainText('image/png 200×300')
      await expect(asked(chat.questions.last()).getByRole('button')).toHaveCount(1)
    },
  )

  seeing('that cannot be read say what to do, and keep the question', async ({ page, chat, question }) => {
    await chat.open()
    await chat.composer.fill(question)
    const heic = Buffer.from('\0\0\0\x24ftypheic\0\0\0\0mif1heic', 'latin1')
    await give(page, 'drop', [{ name: 'IMG_0001.HEIC', type: 'image/heic', content: heic }])
    await expect(strip(page).getByRole('alert')).toContainText('互換性優先')
    await expect(chat.send).toBeDisabled()
    await strip(page).getByRole('button', { name: '追加できなかった画像を外す' }).click()
    await expect(chat.send).toBeEnabled()
    await expect(chat.composer).toHaveValue(question)
  })

  seeing('fit a phone', async ({ page, chat, model, question }) => {
    await page.setViewportSize({ width: 390, height: 800 })
    model.script(question, { pictures: true })
    await chat.open()
    const all = await Promise.all(Array.from({ length: 11 }, (_, i) => draw(page, 200 + i, 300)))
    await give(
      page,
      'drop',
      all.map((content) => png(content)),
    )
    await expect(
      page.getByText('一つの質問に添えられる画像は10枚までです。1枚は追加しませんでした。'),
    ).toBeVisible()
    await expect(strip(page).getByRole('button', { name: '画像10を拡大' })).toBeVisible()
    const wide = () => page.evaluate(() => document.documentElement.scrollWidth)
    expect(await wide()).toBe(390)
    await chat.composer.fill(question)
    await chat.send.click()
    await expect(chat.answer).toContainText('画像を10枚受け取りました。')
    expect(await wide()).toBe(390)
  })
})

base('a model that does not see is shown no pictures, and the menu says why', async ({ page, chat }) => {
  await chat.open()
  await page.getByRole('button', { name: 'ファイルや画像を追加' }).click()
  await expect(page.getByRole('dialog').getByText(/^画像を追加できません（/)).toBeVisible()
  await page.keyboard.press('Escape')
  await give(page, 'drop', [png(await draw(page, 20, 20))])
  await expect(page.getByRole('status').getByText(/^画像を追加できません（/)).toBeVisible()
  await expect(strip(page)).toBeHidden()
})
