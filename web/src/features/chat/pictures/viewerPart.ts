import { LazyPart } from '@/lib/ui/lazyPart'

/** viewerPart is the viewer of pictures, loaded when a picture is opened for the first time. */
export const viewerPart = new LazyPart(async () => (await import('./PictureViewer')).PictureViewer)
