import { Download } from 'lucide-react'
import { Button } from '@/components/Button'
import { call, errorMessage } from '@/lib/api'
import { download } from '@/lib/browser/download'
import { useTask } from '@/lib/ui/task'
import { toastFailure } from '@/lib/ui/toast'
import styles from './DataPage.module.css'
import { SettingPage } from './SettingPage'
import { texts } from './texts'

const words = texts.data

/** DataPage downloads the user's own data as a ZIP archive. */
export function DataPage() {
  const { busy, run } = useTask()
  const save = () =>
    run(
      async () => download('tsumugi-data.zip', await call('exportOwnData'), 'application/zip'),
      (cause) => toastFailure(words.failed(errorMessage(cause)), () => void save()),
    )
  return (
    <SettingPage title={words.title}>
      <div className={styles.body}>
        <p>{words.lead}</p>
        <ul>
          {words.contents.map((item) => (
            <li key={item}>{item}</li>
          ))}
        </ul>
        <p className={styles.quiet}>{words.without}</p>
        <div>
          <Button variant="primary" loading={busy} onClick={() => void save()}>
            <Download size={16} aria-hidden />
            {words.submit}
          </Button>
        </div>
        <p className={styles.quiet} role="status">
          {busy && words.wait}
        </p>
      </div>
    </SettingPage>
  )
}
