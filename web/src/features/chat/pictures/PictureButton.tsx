import { Camera, Image, ImagePlus } from 'lucide-react'
import { IconButton } from '@/components/IconButton'
import { Menu, MenuItem } from '@/components/Menu'
import { useMedia } from '@/lib/ui/media'
import { toast } from '@/lib/ui/toast'
import { PICTURE_TYPES } from '../draft/pictures'
import { texts } from '../texts'

const words = texts.pictures

/** PictureButton adds pictures to a question from the device or, on a phone, from its camera. */
export function PictureButton({
  blind,
  disabled = false,
  onFiles,
}: {
  /** The reason why the question cannot have pictures; '' if it can. */
  blind: string
  disabled?: boolean
  onFiles: (files: readonly File[]) => void
}) {
  const phone = useMedia('(pointer: coarse)')
  if (blind !== '')
    return (
      <IconButton
        label={words.blind(blind)}
        side="top"
        aria-disabled
        // Without hover, a tap shows the reason.
        onClick={() => toast(blind)}
      >
        <ImagePlus size={18} />
      </IconButton>
    )
  const button = (
    <IconButton
      label={words.add}
      side="top"
      disabled={disabled}
      onClick={phone ? undefined : () => choosePictures(false, onFiles)}
    >
      <ImagePlus size={18} />
    </IconButton>
  )
  if (!phone) return button
  return (
    <Menu trigger={button} align="start">
      <MenuItem icon={<Camera size={16} />} onSelect={() => choosePictures(true, onFiles)}>
        {words.camera}
      </MenuItem>
      <MenuItem icon={<Image size={16} />} onSelect={() => choosePictures(false, onFiles)}>
        {words.choose}
      </MenuItem>
    </Menu>
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
