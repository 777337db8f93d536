import { useAtomValue } from 'jotai'
import { Code, Maximize2, MoreHorizontal, Image as Picture } from 'lucide-react'
import { type ReactNode, useEffect, useId, useMemo, useState } from 'react'
import { copyText } from '@/lib/browser/clipboard'
import { cx } from '@/lib/ui/cx'
import { useMedia } from '@/lib/ui/media'
import { themeAtom } from '@/lib/ui/theme'
import fence from './code.module.css'
import styles from './diagram.module.css'
import { type Drawn, drawDiagram, type Scheme } from './diagrams'
import { EnlargedDiagram } from './EnlargedDiagram'
import { texts } from './texts'
import { CopyButton, SaveButton, ToolButton } from './tools'
import tools from './tools.module.css'

/** A diagram as a picture. Its source is shown until it is rendered, if it is invalid, and on request. */
export function Diagram({ code, children }: { code: string; children: ReactNode }) {
  const drawn = useDrawn(code, useScheme())
  const [asCode, setAsCode] = useState(false)
  const [enlarged, setEnlarged] = useState(false)
  const [open, setOpen] = useState(false)
  const toolsId = useId()
  const url = useUrl(drawn?.svg)
  if (drawn === null || url === undefined) return children
  const name = texts.diagramKinds[drawn.kind.replace(/-.*$/, '')] ?? texts.diagram
  return (
    <figure className={styles.diagram}>
      <div className={cx(fence.head, styles.head)}>
        <span>{name}</span>
        <div className={styles.buttons} data-print="hide">
          {!asCode && (
            <ToolButton Icon={Maximize2} aria-label={texts.enlarge} onClick={() => setEnlarged(true)} />
          )}
          {/* On a phone there is no space for the tools, so one button shows them. */}
          <ToolButton
            Icon={MoreHorizontal}
            className={styles.more}
            aria-label={texts.diagramTools}
            aria-expanded={open}
            aria-controls={toolsId}
            onClick={() => setOpen(!open)}
          />
        </div>
        <div
          className={cx(tools.tools, styles.tools)}
          id={toolsId}
          data-open={open || undefined}
          data-print="hide"
        >
          <ToolButton
            Icon={asCode ? Picture : Code}
            aria-pressed={asCode}
            aria-label={texts.asCode}
            onClick={() => setAsCode(!asCode)}
          >
            <span>{texts.code}</span>
          </ToolButton>
          <SaveButton
            label={texts.saveSvg}
            text="SVG"
            file={{ name: `${name}.svg`, type: 'image/svg+xml', body: () => toSvg(code) }}
          />
          {/* A canvas that HTML was drawn on cannot be read. */}
          {!drawn.svg.includes('foreignObject') && (
            <SaveButton
              label={texts.savePng}
              text="PNG"
              file={{ name: `${name}.png`, type: 'image/png', body: () => toPng(code) }}
            />
          )}
          <CopyButton label={texts.copySource} copy={() => copyText(code)} />
        </div>
      </div>
      {asCode ? (
        children
      ) : (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls must be reachable by keyboard.
        <div className={styles.drawing} tabIndex={0} role="group" aria-label={drawn.title || name}>
          {/* biome-ignore lint/a11y/useKeyWithClickEvents: the button above does the same. */}
          <img
            src={url}
            alt={drawn.title || texts.drawn(name)}
            width={drawn.width}
            height={drawn.height}
            onClick={() => setEnlarged(true)}
          />
        </div>
      )}
      {enlarged && (
        <EnlargedDiagram
          name={drawn.title || name}
          url={url}
          drawn={drawn}
          onClose={() => setEnlarged(false)}
        />
      )}
    </figure>
  )
}

/**
 * useDrawn returns the picture of a source. Until it is available in the current colors, it returns the one in other
 * colors.
 */
function useDrawn(code: string, scheme: Scheme): Drawn | null {
  const [state, setState] = useState<{ code: string; drawn: Drawn } | null>(null)
  useEffect(() => {
    let left = false
    drawDiagram(code, scheme).then(
      (drawn) => left || setState({ code, drawn }),
      () => {},
    )
    return () => {
      left = true
    }
  }, [code, scheme])
  return state?.code === code ? state.drawn : null
}

function useScheme(): Scheme {
  const theme = useAtomValue(themeAtom)
  const dark = useMedia('(prefers-color-scheme: dark)')
  return theme === 'system' ? (dark ? 'dark' : 'light') : theme
}

function useUrl(svg: string | undefined): string | undefined {
  const url = useMemo(() => (svg === undefined ? undefined : urlOf(svg)), [svg])
  useEffect(() => () => URL.revokeObjectURL(url ?? ''), [url])
  return url
}

function urlOf(svg: string): string {
  return URL.createObjectURL(new Blob([svg], { type: 'image/svg+xml' }))
}

/** Saved files are for documents, so they always have light colors. */
async function toSvg(code: string): Promise<string> {
  return (await drawDiagram(code, 'light')).svg
}

async function toPng(code: string): Promise<Blob> {
  const { svg, width, height } = await drawDiagram(code, 'light')
  const image = new Image(width, height)
  image.src = urlOf(svg)
  await image.decode()
  const scale = Math.min(2, 8192 / Math.max(width, height))
  const canvas = document.createElement('canvas')
  canvas.width = Math.ceil(width * scale)
  canvas.height = Math.ceil(height * scale)
  const context = canvas.getContext('2d')
  if (context === null) throw new Error('no canvas')
  context.fillStyle = '#fff'
  context.fillRect(0, 0, canvas.width, canvas.height)
  context.drawImage(image, 0, 0, canvas.width, canvas.height)
  URL.revokeObjectURL(image.src)
  return new Promise((resolve, reject) =>
    canvas.toBlob((blob) => (blob === null ? reject(new Error('no picture')) : resolve(blob)), 'image/png'),
  )
}
