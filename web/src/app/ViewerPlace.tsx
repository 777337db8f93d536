import { useEffect } from 'react'
import { useSearchParams } from 'react-router'
import { LazyPart, useLazyPart } from '@/lib/ui/lazyPart'
import { placeOf } from '@/lib/ui/sourcePlace'
import { toastFailure } from '@/lib/ui/toast'

const viewer = new LazyPart(() => import('@/features/viewer/Viewer'))

/** ViewerPlace shows the viewer while the URL contains a place in a data source. */
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
