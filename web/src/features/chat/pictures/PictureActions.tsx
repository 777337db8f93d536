import { Camera, ImagePlus } from 'lucide-react'
import { Button } from '@/components/Button'
import { useMedia } from '@/lib/ui/media'
import { PICTURE_TYPES } from '../draft/pictures'
import { texts } from '../texts'

const words = texts.pictures

/** PictureActions adds pictures to a question from the device or, on a phone, from its camera. */
export function PictureActions({
  blind,
  onFiles,
}: {
  /** The reason why the question cannot have pictures; '' if it can. */
  blind: string
  onFiles: (files: readonly File[]) => void
}) {
  const phone = useMedia('(pointer: coarse)')
  if (blind !== '') return <p>{words.blind(blind)}</p>
  return (
    <>
      <Button variant="quiet" onClick={() => choosePictures(false, onFiles)}>
        <ImagePlus size={16} aria-hidden />
        {words.add}
      </Button>
      {phone && (
        <Button variant="quiet" onClick={() => choosePictures(true, onFiles)}>
          <Camera size={16} aria-hidden />
          {words.camera}
        </Button>
      )}
    </>
  )
}

/** choosePictures opens the picture picker or the camera. */
function choosePictures(camera: boolean, onFiles: (files: readonly File[]) => void): void {
  const chooser = document.createElement('input')
  chooser.type = 'file'
  chooser.accept = PICTURE_TYPES
  if (camera) chooser.capture = 'environment'
  else chooser.multiple = true
  chooser.onchange = () => onFiles([...(chooser.files ?? [])])
  chooser.click()
}
