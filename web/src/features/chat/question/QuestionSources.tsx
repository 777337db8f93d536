import { FileText } from 'lucide-react'
import { useState } from 'react'
import { useSource } from '@/entities/source/dataSources'
import { useOpenSource } from '@/entities/source/openSource'
import styles from '../composer/Attachments.module.css'
import { texts } from '../texts'

/** The number of files listed before unfolding. */
const NAMED = 4

/** QuestionSources lists the files of a question by name. */
export function QuestionSources({ ids }: { ids: readonly string[] }) {
  const [all, setAll] = useState(false)
  if (ids.length === 0) return null
  const shown = all || ids.length <= NAMED + 1 ? ids : ids.slice(0, NAMED)
  return (
    <ul className={styles.sent} aria-label={texts.files.asked}>
      {shown.map((id) => (
        <Name key={id} id={id} />
      ))}
      {shown.length < ids.length && (
        <li>
          <button type="button" className={styles.again} data-print="hide" onClick={() => setAll(true)}>
            {texts.files.more(ids.length - shown.length)}
          </button>
        </li>
      )}
    </ul>
  )
}

function Name({ id }: { id: string }) {
  const { data: source, isError } = useSource(id)
  const openSource = useOpenSource()
  return (
    <li className={styles.chip}>
      <FileText size={14} aria-hidden />
      <button
        type="button"
        className={styles.name}
        disabled={source?.status !== 'success'}
        title={source?.filename}
        onClick={() => openSource({ dataSourceId: id })}
      >
        {source?.filename ?? (isError ? texts.files.gone : texts.loading)}
      </button>
    </li>
  )
}
