import { CircleAlert, ImageOff, RotateCcw, X } from 'lucide-react'
import { useState } from 'react'
import { IconButton } from '@/components/IconButton'
import { Spinner } from '@/components/Spinner'
import type { Upload } from '@/entities/source/uploads'
import type { Picture } from '@/lib/api'
import { cx } from '@/lib/ui/cx'
import { LazyPart, useLazyDialog } from '@/lib/ui/lazyPart'
import { pictureUploads, useBlobUrl, usePictureUrl } from '../draft/pictures'
import { texts } from '../texts'
import styles from './Pictures.module.css'

const viewerPart = new LazyPart(async () => (await import('./PictureViewer')).PictureViewer)

const words = texts.pictures

/** Pictures shows thumbnails that open the pictures, in a composer or a sent question. */
export function Pictures({
  pictures,
  uploads = [],
  disabled = false,
  onRemove,
}: {
  pictures: readonly Picture[]
  uploads?: readonly Upload<Picture>[]
  disabled?: boolean
  /**
   * Removes a picture, and moves the focus from the removed button. Called without a picture after an upload was
   * removed. Undefined if the pictures are read-only.
   */
  onRemove?: (picture?: Picture) => void
}) {
  const [shown, setShown] = useState<number | null>(null)
  const close = () => setShown(null)
  const PictureViewer = useLazyDialog(viewerPart, shown !== null, close)
  if (pictures.length + uploads.length === 0) return null
  return (
    <>
      <ul
        className={cx(styles.list, onRemove === undefined && styles.asked)}
        aria-label={onRemove ? words.list : words.asked}
      >
        {pictures.map((picture, index) => (
          <li key={picture.id} className={styles.item}>
            <Thumbnail picture={picture} place={index + 1} onOpen={() => setShown(index)} />
            {onRemove && (
              <IconButton
                size="sm"
                side="top"
                className={styles.remove}
                label={words.remove(index + 1)}
                disabled={disabled}
                onClick={() => onRemove(picture)}
              >
                <X size={14} />
              </IconButton>
            )}
          </li>
        ))}
        {uploads.map((upload) => (
          <UploadItem key={upload.id} upload={upload} onRemoved={onRemove} />
        ))}
      </ul>
      {PictureViewer && shown !== null && <PictureViewer pictures={pictures} from={shown} onClose={close} />}
    </>
  )
}

function Thumbnail({ picture, place, onOpen }: { picture: Picture; place: number; onOpen: () => void }) {
  const { url, failed } = usePictureUrl(picture.id, 'thumbnail')
  return (
    <button
      type="button"
      className={styles.thumbnail}
      aria-label={failed ? words.gone : words.open(place)}
      disabled={failed}
      onClick={onOpen}
    >
      {failed ? (
        <ImageOff size={20} aria-hidden />
      ) : (
        url && <img src={url} alt="" width={picture.width} height={picture.height} />
      )}
    </button>
  )
}

/** UploadItem shows a pending or failed upload of a picture. */
function UploadItem({
  upload: { id, file, state, percent, reason, again },
  onRemoved,
}: {
  upload: Upload<Picture>
  onRemoved: (() => void) | undefined
}) {
  const url = useBlobUrl(state === 'failed' ? undefined : file)
  const failed = state === 'failed'
  return (
    <li className={cx(styles.item, failed && styles.failed)}>
      <span className={styles.thumbnail}>
        {failed ? <CircleAlert size={20} aria-hidden /> : url && <img src={url} alt="" />}
        {!failed && (
          <span className={styles.progress} role="status" aria-label={words.uploading(percent)}>
            <Spinner size={18} />
          </span>
        )}
      </span>
      {failed && (
        <p className={styles.reason} role="alert">
          {reason}
          {again && (
            <button type="button" className={styles.again} onClick={() => pictureUploads.retry(id)}>
              <RotateCcw size={12} aria-hidden />
              {texts.again}
            </button>
          )}
        </p>
      )}
      <IconButton
        size="sm"
        side="top"
        className={styles.remove}
        label={failed ? words.removeFailed : words.stop}
        onClick={() => {
          pictureUploads.remove(id)
          onRemoved?.()
        }}
      >
        <X size={14} />
      </IconButton>
    </li>
  )
}
