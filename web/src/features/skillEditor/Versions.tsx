import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { Button } from '@/components/Button'
import { Dialog } from '@/components/Dialog'
import { call, type SkillContent, type SkillDocument, type SkillVersion } from '@/lib/api'
import { formatDate } from '@/lib/ui/dates'
import { LazyPart, useLazyPart } from '@/lib/ui/lazyPart'
import { toast, toastFailure } from '@/lib/ui/toast'
import { described, useNames } from './described'
import styles from './Editor.module.css'
import { documentsQuery, versionsQuery } from './queries'
import { texts } from './texts'

const words = texts.versions

const diffPart = new LazyPart(async () => (await import('./diff')).diffLines)

interface VersionsProps {
  readonly skillId: string
  readonly current: number
  /** The edited content. */
  readonly content: SkillContent
  /** The documents of the saved skill. */
  readonly documents: readonly SkillDocument[]
  readonly onRestore: (content: SkillContent) => void
  readonly onClose: () => void
}

/** Versions lists the versions of a skill with author, time and differences, and can restore one. */
export function Versions({ skillId, current, content, documents, onRestore, onClose }: VersionsProps) {
  const list = useQuery(versionsQuery(skillId))
  const [compared, setCompared] = useState<SkillVersion | null>(null)
  const read = async (version: number, use: (found: SkillVersion) => void) => {
    try {
      await diffPart.load()
      use(await call('getSkillVersion', { skill_id: skillId, version }))
    } catch {
      toastFailure(texts.failed)
    }
  }
  const restore = (found: SkillVersion) => {
    if (found.content) onRestore(found.content)
    toast(words.restored(found.version))
    onClose()
  }
  return (
    <Dialog
      title={words.title}
      wide
      onClose={onClose}
      actions={<Button onClick={onClose}>{texts.close}</Button>}
    >
      <ul className={styles.versions}>
        {list.data?.map(({ version, user_name, created_at }) => (
          <li key={version}>
            <span>
              <strong>{texts.version(version)}</strong>
              {version === current && <small>{words.current}</small>}
              <small>{texts.saved(user_name, formatDate(created_at))}</small>
            </span>
            <span>
              <Button size="sm" onClick={() => void read(version, setCompared)}>
                {words.compare}
              </Button>
              <Button size="sm" onClick={() => void read(version, restore)}>
                {words.restore}
              </Button>
            </span>
          </li>
        ))}
      </ul>
      {compared?.content && (
        <Comparison
          version={compared.version}
          before={compared.content}
          after={content}
          documents={documents}
        />
      )}
    </Dialog>
  )
}

interface ComparisonProps {
  readonly version: number
  readonly before: SkillContent
  readonly after: SkillContent
  readonly documents: readonly SkillDocument[]
}

function Comparison({ version, before, after, documents }: ComparisonProps) {
  const names = useNames([...documents, ...(useQuery(documentsQuery).data ?? [])])
  const diffLines = useLazyPart(diffPart, true)
  if (diffLines === null) return null
  const lines = diffLines(described(before, names), described(after, names))
  if (lines.every(({ kind }) => kind === 'same')) return <p role="status">{words.same}</p>
  return (
    <section aria-label={`${words.before(version)} → ${words.after}`}>
      <h3>{`${words.before(version)} → ${words.after}`}</h3>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard. */}
      <pre className={styles.diff} tabIndex={0}>
        {lines.map(({ kind, text }, index) => {
          const Line = kind === 'removed' ? 'del' : kind === 'added' ? 'ins' : 'span'
          const mark = { removed: '−', added: '＋', same: '　' }[kind]
          // biome-ignore lint/suspicious/noArrayIndexKey: lines have no other identity.
          return <Line key={index}>{`${mark}${text}\n`}</Line>
        })}
      </pre>
    </section>
  )
}
