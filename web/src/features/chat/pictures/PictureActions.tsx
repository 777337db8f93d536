import { Camera, ImagePlus } from 'lucide-react'
import { Button } from '@/components/Button'
import { chooseFiles } from '@/lib/browser/chooseFiles'
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
      <Button variant="quiet" onClick={() => chooseFiles({ accept: PICTURE_TYPES, multiple: true }, onFiles)}>
        <ImagePlus size={16} aria-hidden />
        {words.add}
      </Button>
      {phone && (
        <Button
          variant="quiet"
          onClick={() => chooseFiles({ accept: PICTURE_TYPES, capture: 'environment' }, onFiles)}
        >
          <Camera size={16} aria-hidden />
          {words.camera}
        </Button>
      )}
    </>
  )
}
