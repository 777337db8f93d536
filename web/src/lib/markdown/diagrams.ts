/*
 * Mermaid draws diagrams in a hidden frame, /diagram.html, with an origin of its own: it writes markup from the model
 * into its document, needs inline styles, and had vulnerabilities in its sanitizing. The frame can make no requests.
 * The app fetches the library, one file, and passes it to the frame, because an origin without storage would load it
 * each time. The SVG is checked (isInert) and shown as a picture, in which no script runs and nothing is loaded.
 * Mermaid's own sandbox shows a frame for each diagram and measures text in the page. The server cannot draw without a
 * browser.
 */
import library from 'mermaid/dist/mermaid.min.js?url'

/** A diagram as a picture. */
export interface Drawn {
  readonly svg: string
  /** Mermaid's name for the kind of diagram. */
  readonly kind: string
  /** The title in its source, or ''. */
  readonly title: string
  readonly width: number
  readonly height: number
}

export type Scheme = 'light' | 'dark'

type Answer = Drawn & { readonly id: number; readonly error?: string }

/** Rendering takes milliseconds. After this time it would never finish. */
const limitMs = 20_000
const maxLength = 50_000
const maxKept = 60

const drawn = new Map<string, Promise<Drawn>>()

/** drawDiagram renders a diagram, once per color scheme. It rejects if the source is not a diagram. */
export function drawDiagram(source: string, scheme: Scheme): Promise<Drawn> {
  const key = `${scheme}\n${source}`
  const known = drawn.get(key)
  if (known !== undefined) return known
  const made = source.length > maxLength ? Promise.reject(new Error('too long')) : ask(source, scheme)
  drawn.set(key, made)
  for (const old of drawn.keys()) {
    if (drawn.size <= maxKept) break
    drawn.delete(old)
  }
  return made
}

let frame: Promise<MessagePort> | null = null
let end = () => {}
let asked = 0

async function ask(source: string, scheme: Scheme): Promise<Drawn> {
  frame ??= open()
  const port = await frame
  const id = ++asked
  const answer = await new Promise<Answer>((resolve, reject) => {
    const timer = setTimeout(() => {
      // The next diagram gets a new frame.
      end()
      reject(new Error('too slow'))
    }, limitMs)
    const hear = ({ data }: MessageEvent<Answer>) => {
      if (data.id !== id) return
      clearTimeout(timer)
      port.removeEventListener('message', hear)
      resolve(data)
    }
    port.addEventListener('message', hear)
    port.postMessage({ id, source, config: configOf(scheme) })
  })
  if (answer.error !== undefined) throw new Error(answer.error)
  if (!isInert(answer.svg)) throw new Error('not a picture alone')
  return answer
}

/**
 * open creates the frame. It is sandboxed: it has a separate origin without the app's storage, cannot load anything and
 * cannot connect to anything. So the library is passed in.
 */
async function open(): Promise<MessagePort> {
  const element = document.createElement('iframe')
  element.setAttribute('sandbox', 'allow-scripts')
  element.setAttribute('aria-hidden', 'true')
  element.tabIndex = -1
  element.src = '/diagram.html'
  // The frame must be laid out, because otherwise texts in it could not be measured.
  Object.assign(element.style, {
    position: 'fixed',
    insetInlineStart: '-4000px',
    width: '1600px',
    height: '1200px',
    border: '0',
    visibility: 'hidden',
  })
  end = () => {
    frame = null
    element.remove()
  }
  try {
    const loaded = new Promise((resolve) => element.addEventListener('load', resolve, { once: true }))
    document.body.append(element)
    const response = await fetch(library)
    if (!response.ok) throw new Error(`${response.status}`)
    const text = await response.text()
    await loaded
    const { port1, port2 } = new MessageChannel()
    port1.start()
    element.contentWindow?.postMessage(text, '*', [port2])
    return port1
  } catch (cause) {
    end()
    drawn.clear()
    throw cause
  }
}

const tag = /<(?:[^"'<>]|"[^"]*"|'[^']*')*>/g

/** Active tags, and tags with external references. */
const active = [
  /^<(?:\w+:)?(?:script|iframe|object|embed|link|meta|base|form|input|set|animate\w*|handler)\b/i,
  /^<[!?]/,
  /\son\w+\s*=/i,
  /\b(?:href|src)\s*=\s*["']?(?!["']?#)/i,
]

/**
 * isInert reports whether a picture has neither active content nor external references. The app would block them, but
 * the picture may be saved and opened in another program. It checks the text, because the page's policy would affect
 * the styles of a parsed picture.
 */
export function isInert(svg: string): boolean {
  const tags = svg.match(tag) ?? []
  return (
    svg.startsWith('<svg') &&
    !svg.replace(tag, '').includes('<') &&
    !tags.some((one) => active.some((pattern) => pattern.test(one))) &&
    !/@import|\burl\(\s*(?!(?:["']|&quot;)?#)/i.test(svg)
  )
}

const font =
  '"Hiragino Sans", "Noto Sans JP", "Noto Sans CJK JP", "Yu Gothic UI", "Meiryo", system-ui, sans-serif'

/** configOf has the app's colors from `tokens.css`, because a picture cannot inherit them from the page. */
function configOf(scheme: Scheme) {
  const dark = scheme === 'dark'
  const [paper, raised, ink, line, accent, wash] = dark
    ? ['#211f1c', '#2a2724', '#ece8e1', '#746d63', '#8ab6e1', '#1f2731']
    : ['#ffffff', '#f4f1ea', '#1c1b1a', '#8f887d', '#1f4e79', '#eef2f6']
  return {
    theme: 'base',
    darkMode: dark,
    fontFamily: font,
    htmlLabels: false,
    flowchart: { htmlLabels: false },
    // Settings that a source must not override.
    secure: [
      ...['secure', 'securityLevel', 'startOnLoad', 'maxTextSize', 'maxEdges', 'suppressErrorRendering'],
      ...['theme', 'themeVariables', 'themeCSS', 'darkMode', 'fontFamily', 'htmlLabels'],
    ],
    themeVariables: {
      darkMode: dark,
      fontFamily: font,
      fontSize: '15px',
      background: paper,
      edgeLabelBackground: paper,
      primaryColor: wash,
      primaryTextColor: ink,
      primaryBorderColor: accent,
      secondaryColor: raised,
      secondaryTextColor: ink,
      secondaryBorderColor: line,
      tertiaryColor: raised,
      tertiaryTextColor: ink,
      tertiaryBorderColor: line,
      lineColor: line,
      textColor: ink,
      noteBkgColor: raised,
      noteTextColor: ink,
      noteBorderColor: line,
    },
  }
}
