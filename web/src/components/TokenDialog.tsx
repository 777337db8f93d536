import { copyText } from '@/lib/browser/clipboard'
import { Button } from './Button'
import { CopyButton } from './CopyButton'
import { Dialog } from './Dialog'
import styles from './TokenDialog.module.css'

const texts = {
  created: 'トークンを作成しました',
  once: 'このトークンは、この画面を閉じると二度と表示できません。今すぐコピーして、安全な場所に保管してください。',
  copy: 'コピー',
  close: '閉じる',
} as const

/** Shows a new token, which cannot be shown again. Render it only while it is open. */
export function TokenDialog({ token, onClose }: { token: string; onClose: () => void }) {
  return (
    <Dialog
      title={texts.created}
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>{texts.close}</Button>
          <CopyButton variant="primary" copy={() => copyText(token)}>
            {texts.copy}
          </CopyButton>
        </>
      }
    >
      <p className={styles.once}>{texts.once}</p>
      <code className={styles.token}>{token}</code>
    </Dialog>
  )
}
