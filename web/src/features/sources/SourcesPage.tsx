import { useCallback, useRef } from 'react'
import { PageHeading } from '@/components/PageHeading'
import { PageTitle } from '@/components/PageTitle'
import { uploads } from '@/entities/source/uploads'
import { useFiles } from '@/entities/source/useFiles'
import { AddFiles } from './AddFiles'
import { Announcer } from './Announcer'
import { SourceList } from './SourceList'
import styles from './SourcesPage.module.css'
import { texts } from './texts'
import { UploadList } from './UploadList'

/** SourcesPage adds files by button, drop or paste, and lists the data sources below. */
export function SourcesPage() {
  const scroller = useRef<HTMLDivElement>(null)
  const add = useCallback((files: readonly File[]) => uploads.add(files), [])
  const { over, handlers } = useFiles(add)
  return (
    <div className={styles.scroller} ref={scroller} {...handlers}>
      <PageTitle>{texts.title}</PageTitle>
      <div className={styles.page}>
        <PageHeading title={texts.title} lead={texts.lead} />
        <AddFiles over={over} onFiles={add} />
        <UploadList />
        <SourceList scroller={scroller} />
      </div>
      <Announcer />
      {over && (
        <div className={styles.over} aria-hidden>
          <p>{texts.dropHere}</p>
        </div>
      )}
    </div>
  )
}
