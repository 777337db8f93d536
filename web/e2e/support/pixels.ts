import type { Locator } from '@playwright/test'

/** The marked fraction of a picture's ink, from 0 to 1. */
interface Coverage {
  /** The marked fraction of the red ink. */
  readonly red: number
  /** The marked fraction of the black ink. */
  readonly black: number
  /** The number of red pixels. */
  readonly ink: number
}

/** Reads the pixels of an element: ink is marked if the paper around it is yellow. */
export async function markedInk(element: Locator): Promise<Coverage> {
  const png = (await element.screenshot({ animations: 'disabled' })).toString('base64')
  return element.page().evaluate(async (data) => {
    const image = new Image()
    image.src = `data:image/png;base64,${data}`
    await image.decode()
    const canvas = new OffscreenCanvas(image.width, image.height)
    const context = canvas.getContext('2d')
    if (context === null) throw new Error('there is no canvas')
    context.drawImage(image, 0, 0)
    const { data: bytes, width, height } = context.getImageData(0, 0, image.width, image.height)
    const at = (x: number, y: number) => {
      const i = (y * width + x) * 4
      return [bytes[i] ?? 0, bytes[i + 1] ?? 0, bytes[i + 2] ?? 0] as const
    }
    const isYellow = (x: number, y: number) => {
      const [r, g, b] = at(x, y)
      return r > 235 && g > 195 && b < 140
    }
    // The nearest paper on all four sides, within the height of a character.
    const marked = (x: number, y: number) => {
      for (let by = 1; by <= 6; by++)
        for (const [dx, dy] of [
          [by, 0],
          [-by, 0],
          [0, by],
          [0, -by],
        ] as const) {
          const [r, g] = at(x + dx, y + dy)
          if (r > 235 && g > 195) return isYellow(x + dx, y + dy)
        }
      return false
    }
    const count = { red: 0, redMarked: 0, black: 0, blackMarked: 0 }
    for (let y = 6; y < height - 6; y++)
      for (let x = 6; x < width - 6; x++) {
        const [r, g, b] = at(x, y)
        const kind = r > 140 && g < 90 && b < 90 ? 'red' : r < 90 && g < 90 && b < 90 ? 'black' : null
        if (kind === null) continue
        count[kind]++
        if (marked(x, y)) count[`${kind}Marked`]++
      }
    return {
      red: count.redMarked / Math.max(1, count.red),
      black: count.blackMarked / Math.max(1, count.black),
      ink: count.red,
    }
  }, png)
}
