import { NoticeCard } from '@/components/NoticeCard'
import { fromJapan } from '../format'
import { Section } from '../parts/Page'
import { notice } from '../texts'
import type { NoticeValues } from './noticeForm'

const words = notice.preview

/** The notice as members will see it. */
export function Preview({ values }: { values: NoticeValues }) {
  return (
    <Section title={words.title} lead={words.lead}>
      <NoticeCard
        notice={{
          title: values.title.trim() || words.untitled,
          body: values.body.trim(),
          url: values.url.trim(),
          level: values.level,
          published_at: fromJapan(values.from) ?? new Date().toISOString(),
        }}
      />
    </Section>
  )
}
