import { X } from 'lucide-react'
import { useModal } from '@/lib/ui/layers'
import styles from './diagram.module.css'
import type { Drawn } from './diagrams'
import { texts } from './texts'

interface EnlargedDiagramProps {
  readonly name: string
  readonly url: string
  readonly drawn: Drawn
  readonly onClose: () => void
}

/** sizeOf fits a small diagram into the window, at most twice its size. A large one keeps its size. */
function sizeOf({ width, height }: Drawn) {
  const fitting = `calc((100dvh - 80px) * ${width / height})`
  return { width, minWidth: `min(100%, ${2 * width}px, ${fitting})` }
}

/** A diagram over the whole page, in its original size or larger. It scrolls. Esc closes it. */
export function EnlargedDiagram({ name, url, drawn, onClose }: EnlargedDiagramProps) {
  return (
    <dialog ref={useModal()} className={styles.enlarged} aria-label={name} onClose={onClose}>
      <button type="button" className={styles.close} aria-label={texts.close} onClick={onClose}>
        <X size={18} aria-hidden="true" />
      </button>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls must be reachable by keyboard. */}
      <div className={styles.stage} tabIndex={0} role="region" aria-label={name}>
        <img src={url} alt={name} style={sizeOf(drawn)} />
      </div>
    </dialog>
  )
}
