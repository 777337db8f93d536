import type { Page } from '@playwright/test'
import { expect, test } from './support/test'

const long = Array.from({ length: 40 }, (_, n) => `## 見出し${n + 1}\n\n${'説明の文です。'.repeat(12)}`).join(
  '\n\n',
)

/** The scroll position of the page and of each box around the message list, and the maximum. */
function scrolledPage(page: Page): Promise<number[]> {
  return page.evaluate(() => {
    const boxes = ['main', 'body', 'html'].map((name) => document.querySelector(name))
    return boxes.flatMap((box) =>
      box === null ? [] : [box.scrollTop, box.scrollHeight - box.clientHeight].map(Math.round),
    )
  })
}

const unmoved = [0, 0, 0, 0, 0, 0]

async function expectUnmoved(page: Page, after: string): Promise<void> {
  expect(await scrolledPage(page), after).toEqual(unmoved)
}

/** Turns the wheel in both directions over a point. It returns once the message list has moved and returned. */
async function turnWheel(page: Page, x: number, y: number): Promise<void> {
  const list = page.locator('main [data-scroller]')
  const box = await list.boundingBox()
  if (box === null) throw new Error('no message list')
  await page.mouse.move(x, y)
  await page.mouse.wheel(0, 600)
  await page.mouse.wheel(0, -600)
  await page.mouse.wheel(0, 600)
  // Wheel events are handled in order: when the list has moved, the earlier ones have been handled.
  // The earlier ones may have moved it, too, so its place is compared with its end.
  const left = () => list.evaluate((e) => e.scrollHeight - e.clientHeight - e.scrollTop)
  await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2)
  await page.mouse.wheel(0, -300)
  await expect.poll(left).toBeGreaterThan(100)
  await page.mouse.wheel(0, 100_000)
  await expect.poll(left).toBeLessThan(2)
}

for (const [name, viewport] of [
  ['desktop', { width: 1440, height: 900 }],
  ['phone', { width: 390, height: 844 }],
] as const) {
  test.describe(name, () => {
    test.use({ viewport })

    test('only the message list scrolls', async ({ page, chat, model, question }) => {
      await chat.open()
      for (const n of [1, 2, 3]) {
        const asked = `${n}回目。${question}`
        model.script(asked, { text: long, tokens_per_second: -1 })
        await chat.ask(asked)
        await chat.finished()
      }
      await expectUnmoved(page, 'three answers')
      const composer = await chat.composer.boundingBox()
      if (composer === null) throw new Error('no composer')
      const points = {
        composer: [composer.x + 20, composer.y + 8],
        note: [viewport.width / 2, viewport.height - 6],
        header: [viewport.width / 2, 20],
        title: [viewport.width / 2, 80],
        'left edge': [2, viewport.height / 2],
        'right edge': [viewport.width - 2, viewport.height / 2],
        'bottom corner': [viewport.width - 2, viewport.height - 2],
      } as const
      for (const [where, [x, y]] of Object.entries(points)) {
        await turnWheel(page, x, y)
        await expectUnmoved(page, `the wheel over the ${where}`)
      }
      expect(await chat.composer.boundingBox(), 'place of the composer').toEqual(composer)

      // Screen readers jump by headings, including hidden ones.
      const headings = page.getByRole('main').locator(':is(h1, h2, h3, h4)')
      const count = await headings.count()
      expect(count).toBeGreaterThan(100)
      for (const at of [0, 1, 2, Math.floor(count / 2), count - 2, count - 1]) {
        await headings.nth(at).evaluate((heading) => heading.scrollIntoView({ block: 'start' }))
        // The clipped heading itself is never seen.
        await expect(headings.nth(at).locator('..')).toBeInViewport()
        await expectUnmoved(page, `heading ${at}`)
      }
      expect(await chat.composer.boundingBox(), 'place of the composer').toEqual(composer)
    })
  })
}
