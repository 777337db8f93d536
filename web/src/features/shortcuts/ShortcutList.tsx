import { Button } from '@/components/Button'
import { Dialog } from '@/components/Dialog'
import { keys } from '@/lib/browser/platform'
import { sendKeys, useSendKey } from '@/lib/ui/sendKey'
import styles from './ShortcutList.module.css'
import { texts } from './texts'

/** ShortcutList shows the keyboard shortcuts. */
export function ShortcutList({ onClose }: { onClose: () => void }) {
  const composer = sendKeys(useSendKey())
  const rows = [
    [texts.list.palette, keys('mod', 'K')],
    [texts.list.newThread, keys('mod', 'shift', 'O')],
    [texts.list.composer, '/'],
    [texts.list.fold, keys('mod', 'B')],
    [texts.list.send, composer.send],
    [texts.list.break, composer.break],
    [texts.list.selection, keys('Alt', 'F10')],
    [texts.list.change, 'J・K'],
    [texts.list.decide, 'A・R'],
    [texts.list.escape, 'Esc'],
    [texts.list.help, '?'],
  ] as const
  return (
    <Dialog
      title={texts.list.title}
      onClose={onClose}
      actions={
        <Button autoFocus onClick={onClose}>
          {texts.list.close}
        </Button>
      }
    >
      <dl className={styles.list}>
        {rows.map(([what, combo]) => (
          <div key={what}>
            <dt>{what}</dt>
            <dd>
              <kbd>{combo}</kbd>
            </dd>
          </div>
        ))}
      </dl>
    </Dialog>
  )
}
