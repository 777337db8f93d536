import type { NoTranscript } from './page'

/** isVideo reports whether a URL is that of a video with a readable transcript. */
export function isVideo(url: string): boolean {
  const { hostname, pathname } = new URL(url)
  return /(^|\.)youtube\.com$/.test(hostname) && (pathname === '/watch' || pathname.startsWith('/shorts/'))
}

/**
 * readTranscript returns the transcript of a video: the displayed list, else the player's track, else the reason why
 * none is available.
 */
export async function readTranscript(
  source: Document,
  get: typeof fetch = fetch,
): Promise<{ readonly text: string } | NoTranscript> {
  const title = source.title.replace(/ - YouTube$/, '').trim()
  const lines = shownLines(source)
  const words = lines.length > 0 ? lines : await trackLines(source, get)
  return typeof words === 'string'
    ? words
    : { text: `# ${title}\n\n（動画の文字起こし）\n\n${words.join('\n')}` }
}

function shownLines(source: Document): string[] {
  return [...source.querySelectorAll('ytd-transcript-segment-renderer')].map((segment) => {
    const time = segment.querySelector('.segment-timestamp')?.textContent?.trim() ?? ''
    const text = segment.querySelector('.segment-text')?.textContent?.trim() ?? ''
    return `${time} ${text}`.trim()
  })
}

interface Track {
  readonly baseUrl?: string
  readonly languageCode?: string
  readonly kind?: string
}

async function trackLines(source: Document, get: typeof fetch): Promise<string[] | NoTranscript> {
  const tracks = tracksOf(source)
  // If a video was opened on the page of another one, the page's script describes the other one.
  if (tracks === null) return 'refused'
  const track = tracks.sort((a, b) => rank(b) - rank(a))[0]
  if (track?.baseUrl === undefined) return 'none'
  const url = new URL(track.baseUrl, source.URL)
  if (url.origin !== new URL(source.URL).origin) return 'refused'
  url.searchParams.set('fmt', 'json3')
  const response = await get(url.href)
  if (!response.ok) return 'refused'
  const { events = [] } = (await response.json()) as {
    events?: { tStartMs?: number; segs?: { utf8?: string }[] }[]
  }
  const lines = events.flatMap(({ tStartMs = 0, segs = [] }) => {
    const text = segs
      .map(({ utf8 = '' }) => utf8)
      .join('')
      .replace(/\s+/g, ' ')
      .trim()
    return text === '' ? [] : [`${clock(tStartMs)} ${text}`]
  })
  return lines.length === 0 ? 'none' : lines
}

/** rank orders tracks: Japanese before other languages, human captions before automatic ones. */
function rank({ languageCode = '', kind }: Track): number {
  return (languageCode.startsWith('ja') ? 2 : 0) + (kind === 'asr' ? 0 : 1)
}

/** tracksOf returns the tracks in the page's own script; null if the script describes another video. */
function tracksOf(source: Document): Track[] | null {
  const { pathname, searchParams } = new URL(source.URL)
  const id = searchParams.get('v') ?? pathname.split('/')[2]
  for (const { textContent } of source.scripts) {
    if (!textContent?.includes('ytInitialPlayerResponse') || !textContent.includes(`"videoId":"${id}"`))
      continue
    const at = textContent.indexOf(captions)
    return at < 0 ? [] : ((arrayAt(textContent, at + captions.length) ?? []) as Track[])
  }
  return null
}

const captions = '"captionTracks":'

/** arrayAt returns the JSON array at a position of a text. */
function arrayAt(text: string, from: number): unknown[] | null {
  let depth = 0
  let quoted = false
  for (let i = from; i < text.length; i++) {
    const c = text[i]
    if (quoted) {
      if (c === '\\') i++
      else if (c === '"') quoted = false
    } else if (c === '"') quoted = true
    else if (c === '[' || c === '{') depth++
    else if ((c === ']' || c === '}') && --depth === 0) {
      try {
        return JSON.parse(text.slice(from, i + 1)) as unknown[]
      } catch {
        return null
      }
    }
  }
  return null
}

function clock(ms: number): string {
  const seconds = Math.floor(ms / 1000)
  const two = (value: number) => String(value).padStart(2, '0')
  const [h, m, s] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60]
  return h > 0 ? `${h}:${two(m)}:${two(s)}` : `${m}:${two(s)}`
}
