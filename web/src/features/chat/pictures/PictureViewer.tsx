import { ChevronLeft, ChevronRight, Download, X } from 'lucide-react'
import { type KeyboardEvent, useState } from 'react'
import { Button } from '@/components/Button'
import { Dialog } from '@/components/Dialog'
import { IconButton } from '@/components/IconButton'
import { Spinner } from '@/components/Spinner'
import type { Picture } from '@/lib/api'
import { download } from '@/lib/browser/download'
import { usePictureUrl } from '../draft/pictures'
import { texts } from '../texts'
import styles from './PictureViewer.module.css'

const words = texts.pictures

/** PictureViewer shows the pictures of a question one at a time in full size. */
export function PictureViewer({
  pictures,
  from,
  onClose,
}: {
  pictures: readonly Picture[]
  /** The index of the first picture to show. */
  from: number
  onClose: () => void
}) {
  const [index, setIndex] = useState(from)
  const at = Math.min(index, pictures.length - 1)
  const picture = pictures[at]
  const count = pictures.length
  const onKeyDown = ({ key }: KeyboardEvent) => {
    if (key === 'ArrowLeft') setIndex(Math.max(0, at - 1))
    if (key === 'ArrowRight') setIndex(Math.min(count - 1, at + 1))
  }
  if (picture === undefined) return null
  return (
    <Dialog title={words.viewer} hideTitle className={styles.dialog} onClose={onClose}>
      {/* biome-ignore lint/a11y/noStaticElementInteractions: the arrow keys work for any focused descendant. */}
      <div className={styles.viewer} onKeyDown={onKeyDown}>
        <Large key={picture.id} picture={picture} place={at + 1} count={count} onClose={onClose} />
        {count > 1 && (
          <div className={styles.turn}>
            <IconButton label={words.previous} disabled={at === 0} onClick={() => setIndex(at - 1)}>
              <ChevronLeft size={20} />
            </IconButton>
            <span aria-live="polite">{words.position(at + 1, count)}</span>
            <IconButton label={words.next} disabled={at === count - 1} onClick={() => setIndex(at + 1)}>
              <ChevronRight size={20} />
            </IconButton>
          </div>
        )}
      </div>
    </Dialog>
  )
}

function Large({
  picture,
  place,
  count,
  onClose,
}: {
  picture: Picture
  place: number
  count: number
  onClose: () => void
}) {
  const { url, failed, blob, retry } = usePictureUrl(picture.id, 'full')
  const name = `${words.fileName(place)}.${picture.media_type === 'image/png' ? 'png' : 'jpg'}`
  return (
    <>
      <div className={styles.tools}>
        <IconButton
          label={words.download}
          disabled={blob === undefined}
          onClick={() => blob && download(name, blob, picture.media_type)}
        >
          <Download size={18} />
        </IconButton>
        <IconButton label={texts.close} onClick={onClose}>
          <X size={18} />
        </IconButton>
      </div>
      <div className={styles.stage} aria-busy={url === null && !failed}>
        {failed ? (
          <p role="alert">
            {words.failedToShow}
            <Button variant="link" size="sm" onClick={retry}>
              {texts.again}
            </Button>
          </p>
        ) : url === null ? (
          <Spinner size={24} />
        ) : (
          <img src={url} alt={words.alt(place, count)} width={picture.width} height={picture.height} />
        )}
      </div>
    </>
  )
}
