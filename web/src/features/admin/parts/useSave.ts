import { errorMessage } from '@/lib/api'
import { useTask } from '@/lib/ui/task'
import { toast, toastFailure } from '@/lib/ui/toast'

interface SaveWords {
  readonly saved: string
  readonly notSaved: (why: string) => string
}

/** useSave saves settings by `store`. It shows the result, and offers to try again after a failure. */
export function useSave(words: SaveWords, store: () => Promise<void>) {
  const { busy, run } = useTask()
  const save = async (): Promise<void> => {
    await run(
      async () => {
        await store()
        toast(words.saved, { tone: 'success' })
      },
      (cause) => toastFailure(words.notSaved(errorMessage(cause)), () => void save()),
    )
  }
  return { busy, save }
}
