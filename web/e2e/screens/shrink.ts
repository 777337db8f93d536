import { crc32, deflateSync, inflateSync } from 'node:zlib'

const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])
/** The number of palette colors chosen by frequency; the others are chosen by how much error they remove. */
const frequent = 160
const all = 256

interface Picture {
  readonly width: number
  readonly height: number
  /** 0xRRGGBB for each pixel, row by row. */
  readonly pixels: Uint32Array
}

/** Rewrites a screenshot with a palette of 256 colours, which is enough for pages and takes a third of the space. */
export function shrink(png: Buffer): Buffer {
  const { width, height, pixels } = decode(png)
  const counts = new Map<number, number>()
  for (const pixel of pixels) counts.set(pixel, (counts.get(pixel) ?? 0) + 1)
  const { palette, indexes } = quantize(counts)
  const rows = Buffer.alloc((width + 1) * height)
  for (let y = 0; y < height; y++)
    for (let x = 0; x < width; x++)
      rows[y * (width + 1) + 1 + x] = indexes.get(pixels[y * width + x] ?? 0) ?? 0
  const header = Buffer.alloc(13)
  header.writeUInt32BE(width, 0)
  header.writeUInt32BE(height, 4)
  header.set([8, 3, 0, 0, 0], 8)
  const colours = Buffer.from(palette.flatMap((colour) => channels(colour)))
  const parts = [chunk('IHDR', header), chunk('PLTE', colours)]
  return Buffer.concat([signature, ...parts, chunk('IDAT', deflateSync(rows, { level: 9 })), chunk('IEND')])
}

/** Reads a PNG as Chromium writes it: 8 bits a channel, with or without alpha, not interlaced. */
function decode(png: Buffer): Picture {
  const data: Buffer[] = []
  let [width, height, bytes] = [0, 0, 0]
  for (let at = signature.length; at < png.length; ) {
    const length = png.readUInt32BE(at)
    const name = png.toString('latin1', at + 4, at + 8)
    const body = png.subarray(at + 8, at + 8 + length)
    if (name === 'IHDR') {
      width = body.readUInt32BE(0)
      height = body.readUInt32BE(4)
      bytes = body[9] === 6 ? 4 : 3
    } else if (name === 'IDAT') data.push(body)
    at += length + 12
  }
  const raw = unfilter(inflateSync(Buffer.concat(data)), width * bytes, height, bytes)
  const pixels = new Uint32Array(width * height)
  for (let i = 0; i < pixels.length; i++) pixels[i] = raw.readUIntBE(i * bytes, 3)
  return { width, height, pixels }
}

/** Reverses the filters of the rows (PNG specification, section 9). */
function unfilter(raw: Buffer, stride: number, height: number, bytes: number): Buffer {
  const out = Buffer.alloc(stride * height)
  for (let y = 0; y < height; y++) {
    const filter = raw[y * (stride + 1)]
    for (let x = 0; x < stride; x++) {
      const at = y * stride + x
      const left = x >= bytes ? (out[at - bytes] ?? 0) : 0
      const up = y > 0 ? (out[at - stride] ?? 0) : 0
      const corner = y > 0 && x >= bytes ? (out[at - stride - bytes] ?? 0) : 0
      out[at] = ((raw[y * (stride + 1) + 1 + x] ?? 0) + guess(filter, left, up, corner)) & 0xff
    }
  }
  return out
}

/** The value that a filter expects for a byte. Called for each byte of a picture, so it allocates nothing. */
function guess(filter: number | undefined, left: number, up: number, corner: number): number {
  if (filter === 1) return left
  if (filter === 2) return up
  if (filter === 3) return (left + up) >> 1
  if (filter !== 4) return 0
  const byLeft = Math.abs(up - corner)
  const byUp = Math.abs(left - corner)
  const byCorner = Math.abs(left + up - 2 * corner)
  if (byLeft <= byUp && byLeft <= byCorner) return left
  return byUp <= byCorner ? up : corner
}

/** Chooses the palette, and the nearest entry for each colour of the picture. */
function quantize(counts: ReadonlyMap<number, number>): { palette: number[]; indexes: Map<number, number> } {
  const byCount = [...counts].sort((a, b) => b[1] - a[1])
  const palette: number[] = []
  const rest = byCount.map(([colour, count]) => ({
    colour,
    count,
    index: 0,
    error: Number.POSITIVE_INFINITY,
  }))
  const add = (colour: number) => {
    palette.push(colour)
    for (const item of rest) {
      const error = distance(item.colour, colour)
      if (error < item.error) Object.assign(item, { error, index: palette.length - 1 })
    }
  }
  for (const [colour] of byCount.slice(0, frequent)) add(colour)
  while (palette.length < Math.min(all, byCount.length)) {
    const worst = rest.reduce((a, b) => (a.error * a.count >= b.error * b.count ? a : b))
    if (worst.error === 0) break
    add(worst.colour)
  }
  return { palette, indexes: new Map(rest.map(({ colour, index }) => [colour, index])) }
}

function distance(a: number, b: number): number {
  const other = channels(b)
  return channels(a).reduce((sum, value, i) => sum + (value - (other[i] ?? 0)) ** 2, 0)
}

function channels(colour: number): [number, number, number] {
  return [colour >> 16, (colour >> 8) & 0xff, colour & 0xff]
}

function chunk(name: string, body = Buffer.alloc(0)): Buffer {
  const named = Buffer.concat([Buffer.from(name, 'latin1'), body])
  const frame = Buffer.alloc(8)
  frame.writeUInt32BE(body.length, 0)
  frame.writeUInt32BE(crc32(named), 4)
  return Buffer.concat([frame.subarray(0, 4), named, frame.subarray(4)])
}
