import { useEffect } from 'react'
import { useSearchParams } from 'react-router'
import { placeOf } from '@/entities/source/openSource'
import { LazyPart, useLazyPart } from '@/lib/ui/lazyPart'
import { toastFailure } from '@/lib/ui/toast'

const viewer = new LazyPart(() => import('@/features/viewer/Viewer'))

/** Loads the viewer, which is not shown yet. */
export function loadViewer(): Promise<void> {
  return viewer.load()
}

/** The viewer, while the address names a place in a data source. */
export function ViewerPlace() {
  const [params] = useSearchParams()
  const open = placeOf(params) !== null
  const part = useLazyPart(viewer, open)
  useEffect(() => {
    if (open) loadOrTell()
  }, [open])
  return part && <part.Viewer />
}

function loadOrTell(): void {
  viewer.load().catch(() => toastFailure('ファイルを表示できませんでした。', loadOrTell))
}
