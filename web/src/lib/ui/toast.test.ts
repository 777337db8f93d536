import { expect, it } from 'vitest'
import { store } from './store'
import { toast, toastsAtom } from './toast'

it('shows one toast for each thread, and a repeated message once', () => {
  const action = { label: '開く', run: () => {} }
  toast('回答が完了しました。', { threadId: 'a', action })
  toast('別の回答が完了しました。', { threadId: 'b', action })
  toast('回答を作成できませんでした。', { threadId: 'a', action })
  toast('保存しました。')
  toast('保存しました。')
  expect(store.get(toastsAtom).map(({ message }) => message)).toEqual([
    '別の回答が完了しました。',
    '回答を作成できませんでした。',
    '保存しました。',
  ])
})
