import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { expect, type Page } from '@playwright/test'
import type axe from 'axe-core'
import type { Result } from 'axe-core'

/** Every document that is inspected runs it, and the browser parses half as many bytes as of axe.source. */
const axeSource = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/** A page to inspect, and how to open it. */
export interface Place {
  readonly name: string
  readonly open: (page: Page) => Promise<void>
}

/** The rules whose result depends on the colour scheme. */
export const colorRules = ['color-contrast', 'link-in-text-block']

/** Applies these rules of axe, or all of them, to a page with its frames. */
async function violations(page: Page, rules?: readonly string[]): Promise<Result[]> {
  for (const frame of page.frames()) {
    // The rules stay in a document that is inspected in several states.
    if (await frame.evaluate(() => 'axe' in window)) continue
    await frame.evaluate(`${axeSource};axe.configure({ allowedOrigins: ['<unsafe_all_origins>'] })`)
  }
  return page.evaluate(async (values) => {
    const { axe: runner } = window as unknown as { axe: typeof axe }
    const only = values && { runOnly: { type: 'rule' as const, values: [...values] } }
    // axe runs in every frame, so it need not wait for responses of frames without it.
    return (await runner.run(document, { resultTypes: ['violations'], pingWaitTime: 0, ...only })).violations
  }, rules)
}

/** Violations of these accessibility rules, or of all. */
export async function breaches(page: Page, rules?: readonly string[]): Promise<string[]> {
  // The contrast of an element is undefined while it fades in. Setting the same value again would draw the page again.
  if (!(await page.evaluate(() => matchMedia('(prefers-reduced-motion: reduce)').matches)))
    await page.emulateMedia({ reducedMotion: 'reduce' })
  // An animation that follows a scroll position never ends.
  await page.waitForFunction(() =>
    document
      .getAnimations()
      .every(({ timeline, playState }) => timeline !== document.timeline || playState !== 'running'),
  )
  return (
    (await violations(page, rules))
      .flatMap(({ id, nodes }) =>
        nodes.map(({ html, failureSummary }) => `${id}: ${html}\n${failureSummary}`),
      )
      // Menus and tooltips belong to their buttons, but axe allows only dialogs outside of landmarks.
      .filter((breach) => !/^region: <div [^>]*(data-floating|role="tooltip")/.test(breach))
  )
}

/** The horizontal overflow of the page, and the elements that cause it. */
export function overflow(page: Page): Promise<{ by: number; what: string[] }> {
  return page.evaluate(() => {
    const root = document.documentElement
    const out = [...document.querySelectorAll('body *')].filter((element) => {
      const { right, width } = element.getBoundingClientRect()
      return width > 0 && right > root.clientWidth + 1
    })
    const by = Math.max(root.scrollWidth, document.body.scrollWidth) - root.clientWidth
    return { by, what: by > 0 ? out.slice(0, 5).map((element) => element.outerHTML.slice(0, 160)) : [] }
  })
}

/** Texts for screen readers that are not contained in their scroll container, and therefore lengthen the page. */
function escaped(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const scrollerOf = (element: Element): Element | null => {
      for (let box = element.parentElement; box !== null && box !== document.body; box = box.parentElement) {
        const { overflowX, overflowY } = getComputedStyle(box)
        if (/auto|scroll/.test(overflowX + overflowY)) return box
      }
      return null
    }
    const hidden = [...document.querySelectorAll<HTMLElement>('.visually-hidden')]
    const out = hidden.filter((element) => {
      const scroller = scrollerOf(element)
      return scroller !== null && element.offsetParent !== null && !scroller.contains(element.offsetParent)
    })
    return out.map((element) => element.outerHTML.slice(0, 160))
  })
}

/** Fields of the page, or of an open dialog, that cover each other, and placeholders that are cut off. */
function crowded(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const place = document.querySelector('dialog[open]') ?? document.querySelector('main')
    const fields = [...(place?.querySelectorAll('input, select, textarea') ?? [])]
      .map((element) => ({ element, box: element.getBoundingClientRect() }))
      .filter(({ element, box }) => box.width > 2 && element.checkVisibility({ visibilityProperty: true }))
    const covered = fields.filter(({ box }, index) =>
      fields
        .slice(0, index)
        .some(
          ({ box: { left, right, top, bottom } }) =>
            box.left < right - 1 && box.right > left + 1 && box.top < bottom - 1 && box.bottom > top + 1,
        ),
    )
    const canvas = document.createElement('canvas').getContext('2d')
    const cut = fields.filter(({ element }) => {
      if (!canvas || !(element instanceof HTMLInputElement)) return false
      const { fontSize, fontFamily, paddingLeft, paddingRight } = getComputedStyle(element)
      canvas.font = `${fontSize} ${fontFamily}`
      const room = element.clientWidth - Number.parseFloat(paddingLeft) - Number.parseFloat(paddingRight)
      // The page sets brackets closer together than the canvas.
      return canvas.measureText(element.placeholder).width > 1.1 * room
    })
    return [...covered, ...cut].map(({ element }) => element.outerHTML.slice(0, 160))
  })
}

/** Texts that are broken between phrases, which leaves a hole at the end of a line. */
export function ragged(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const found: string[] = []
    for (const element of document.querySelectorAll<HTMLElement>('body *')) {
      const text = element.textContent
      if (element.children.length > 0 || text.trim() === '' || !element.checkVisibility()) continue
      const { wordBreak, whiteSpace } = getComputedStyle(element)
      if (wordBreak !== 'auto-phrase' || (whiteSpace !== 'normal' && text.includes('\n'))) continue
      const range = document.createRange()
      range.selectNodeContents(element)
      const widths = [...range.getClientRects()].map(({ width }) => width)
      if (Math.min(...widths.slice(0, -1)) < 0.75 * Math.max(...widths))
        found.push(`${element.outerHTML.slice(0, 120)}: lines of ${widths.map(Math.round)} px`)
    }
    return found
  })
}

/** Inspects a page in light and dark, at desktop and phone width. */
export async function inspect(page: Page, place: Place): Promise<void> {
  await page.emulateMedia({ reducedMotion: 'reduce', colorScheme: 'light' })
  await place.open(page)
  expect(await breaches(page), `${place.name}, light`).toEqual([])
  expect(await crowded(page), `${place.name}, fields`).toEqual([])
  await page.emulateMedia({ colorScheme: 'dark' })
  expect(await breaches(page, colorRules), `${place.name}, dark`).toEqual([])
  await page.setViewportSize({ width: 390, height: 844 })
  await expect
    .poll(() => overflow(page), { message: `${place.name} on a phone` })
    .toEqual({ by: 0, what: [] })
  expect(await escaped(page), `${place.name} on a phone, hidden texts`).toEqual([])
  expect(await breaches(page), `${place.name}, dark, on a phone`).toEqual([])
}
