import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { Select } from '@/components/Field'
import { call, type OrganizationFeedback } from '@/lib/api'
import { cx } from '@/lib/ui/cx'
import { startOfDay } from '../format'
import filters from '../parts/Filters.module.css'
import { Page, Section } from '../parts/Page'
import { Nothing, PagedTable } from '../parts/PagedTable'
import { Period } from '../parts/Period'
import { SaveCsv } from '../parts/SaveCsv'
import { SearchBox } from '../parts/SearchBox'
import table from '../parts/Table.module.css'
import { type FeedbackQuery, feedbackQuery, skillFeedbackQuery } from '../queries'
import { feedback as words } from '../texts'
import { type UrlState, useUrlState } from '../urlState'
import { Detail } from './Detail'
import styles from './Feedback.module.css'
import { Review } from './Review'
import { SkillTable } from './SkillTable'

const NAMES = ['q', 'rating', 'skill_id', 'from', 'to'] as const

/** The ratings of answers: the numbers by skill, and each rating with its comment. */
export function FeedbackPage() {
  const url = useUrlState()
  const query = queryOf(url)
  const [open, setOpen] = useState<OrganizationFeedback | null>(null)
  return (
    <Page
      title={words.title}
      lead={words.lead}
      actions={<SaveCsv name="tsumugi-feedback" load={() => call('exportFeedback', query)} />}
    >
      <Section
        title={words.skills.title}
        actions={
          <div className={cx(filters.filters, styles.period)}>
            <Period url={url} />
          </div>
        }
      >
        <SkillTable period={periodOf(query)} />
      </Section>
      <Section title={words.list.title}>
        <div>
          <Filters url={url} query={query} />
          <PagedTable
            query={(page) => feedbackQuery(query, page)}
            found={words.list.found}
            none={<Nothing url={url} filters={NAMES} words={words.list} />}
            caption={words.list.title}
            columns={[words.list.at, words.list.rating, words.list.of, words.list.comment, words.list.text]}
            className={table.stacked}
            row={(review) => <Review key={review.id} review={review} onOpen={() => setOpen(review)} />}
          />
        </div>
      </Section>
      {open && <Detail review={open} onClose={() => setOpen(null)} />}
    </Page>
  )
}

// The days in the URL are in the reader's time zone; the API expects timestamps.
function queryOf(url: UrlState): FeedbackQuery {
  const q = url.get('q')
  const rating = url.get('rating')
  const skill_id = url.get('skill_id')
  const from = startOfDay(url.get('from'))
  const to = startOfDay(url.get('to'), 1)
  return {
    ...(q && { q }),
    ...((rating === 'good' || rating === 'bad') && { rating }),
    ...(/^[0-9a-f-]{36}$/.test(skill_id) && { skill_id }),
    ...(from && { from }),
    ...(to && { to }),
  }
}

function periodOf({ from, to }: FeedbackQuery): Pick<FeedbackQuery, 'from' | 'to'> {
  return { ...(from && { from }), ...(to && { to }) }
}

function Filters({ url, query }: { url: UrlState; query: FeedbackQuery }) {
  const { data: skills = [] } = useQuery(skillFeedbackQuery(periodOf(query)))
  return (
    <div className={filters.filters}>
      <SearchBox label={words.list.search} value={url.get('q')} onChange={(next) => url.set({ q: next })} />
      <Select
        label={words.list.rating}
        hideLabel
        value={query.rating ?? ''}
        onChange={(event) => url.set({ rating: event.target.value })}
        options={Object.entries(words.ratings)}
      >
        <option value="">{words.list.allRatings}</option>
      </Select>
      <Select
        label={words.list.of}
        hideLabel
        value={query.skill_id ?? ''}
        onChange={(event) => url.set({ skill_id: event.target.value })}
        options={skills.flatMap(({ skill }) => (skill ? [[skill.id, skill.name] as const] : []))}
      >
        <option value="">{words.list.allSkills}</option>
      </Select>
    </div>
  )
}
