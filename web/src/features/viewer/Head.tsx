import { Download, X } from 'lucide-react'
import { ChoiceChip } from '@/components/Chip'
import { IconButton } from '@/components/IconButton'
import { Spinner } from '@/components/Spinner'
import { save } from '@/entities/source/save'
import type { DataSource } from '@/lib/api'
import { useTask } from '@/lib/ui/task'
import { texts } from './texts'
import styles from './Viewer.module.css'

/** ViewName is a view of a data source. */
export type ViewName = keyof typeof texts.views

interface HeadProps {
  readonly source: DataSource | undefined
  readonly view: ViewName
  /** Undefined if only one view exists. */
  readonly onView: ((view: ViewName) => void) | undefined
  readonly onClose: () => void
}

/** Head shows the title of the data source, the choice of views, and the links out of the viewer. */
export function Head({ source, view, onView, onClose }: HeadProps) {
  const { busy: saving, run } = useTask()
  return (
    <header className={styles.head}>
      <h2 className={styles.name} title={source?.filename}>
        {source?.filename}
      </h2>
      {onView && (
        <div className={styles.views} role="group" aria-label={texts.view}>
          {(['page', 'text'] as const).map((name) => (
            <ChoiceChip key={name} selected={view === name} onClick={() => onView(name)}>
              {texts.views[name]}
            </ChoiceChip>
          ))}
        </div>
      )}
      <div className={styles.actions}>
        {source && (
          <IconButton
            label={texts.download}
            aria-busy={saving || undefined}
            onClick={() =>
              void run(
                () => save(source),
                () => {},
              )
            }
          >
            {saving ? <Spinner size={16} /> : <Download size={18} />}
          </IconButton>
        )}
        <IconButton label={texts.close} shortcut="Esc" onClick={onClose}>
          <X size={20} />
        </IconButton>
      </div>
    </header>
  )
}
