import { useQuery, useSuspenseQuery } from '@tanstack/react-query'
import { Plus, Settings2 } from 'lucide-react'
import type { ReactNode } from 'react'
import { Button, ButtonLink } from '@/components/Button'
import { ChoiceChip } from '@/components/Chip'
import { IconLink } from '@/components/IconLink'
import { PageTitle } from '@/components/PageTitle'
import { SearchField } from '@/components/SearchField'
import { EmptyState, ErrorState } from '@/components/States'
import { useThreads } from '@/entities/thread/threads'
import type { Category, Skill, Thread } from '@/lib/api'
import { categoriesQuery, meQuery, skillsQuery } from '@/lib/api/queries'
import { greeting } from '@/lib/ui/dates'
import { setValues, useQueryState } from '@/lib/ui/queryState'
import { FirstSteps } from './FirstSteps'
import { useFirstSteps } from './firstSteps'
import { ModelBanner } from './ModelBanner'
import { Notices } from './Notices'
import { SkillCards, SkillSkeletons } from './SkillCards'
import styles from './SkillsPage.module.css'
import { type Choice, shownSkills } from './select'
import { texts } from './texts'

/**
 * The skills: the setup for administrators, the notices, a greeting, a composer, and a card for each skill. The search
 * and the category are in the URL.
 */
export function SkillsPage({ composer }: { composer: ReactNode }) {
  const { data: me } = useSuspenseQuery(meQuery)
  const { steps, hide } = useFirstSteps(me)
  return (
    <div className={styles.page}>
      <PageTitle>{texts.title}</PageTitle>
      {steps && <FirstSteps steps={steps} onHide={hide} />}
      {steps === null && <ModelBanner role={me.role} />}
      <Notices />
      <div className={styles.head}>
        <h1 className={styles.greeting}>{texts.greeting(greeting(), me.name)}</h1>
        {composer}
      </div>
      <Browser />
    </div>
  )
}

interface BrowserProps {
  choice: Choice
  /** Sets parameters of the URL. */
  onChoose: (values: Readonly<Record<string, string>>) => void
}

function Browser() {
  const [params, change] = useQueryState()
  const choice = { query: params.get('q') ?? '', category: params.get('category') ?? '' }
  const onChoose: BrowserProps['onChoose'] = (values) => change((next) => setValues(next, values))
  const skills = useQuery(skillsQuery)
  const categories = useQuery(categoriesQuery)
  const threads = useThreads()
  const failed = skills.isError || categories.isError
  // The order of the cards depends on the threads.
  const ready = skills.data && categories.data && (threads.loaded || threads.error)
  return (
    <section className={styles.skills} aria-labelledby="skills">
      <h2 className="visually-hidden" id="skills">
        {texts.title}
      </h2>
      <Tools choice={choice} categories={categories.data ?? []} onChoose={onChoose} />
      {failed && (
        <ErrorState
          onRetry={() => {
            void skills.refetch()
            void categories.refetch()
          }}
        />
      )}
      {!failed && !ready && <SkillSkeletons />}
      {ready && (
        <Results
          skills={skills.data}
          categories={categories.data}
          threads={threads.items}
          choice={choice}
          onChoose={onChoose}
        />
      )}
    </section>
  )
}

/** Tools is the row above the cards: the search, the categories, and the links to create and manage skills. */
function Tools({ choice, categories, onChoose }: BrowserProps & { categories: readonly Category[] }) {
  return (
    <div className={styles.tools}>
      <div className={styles.search}>
        <SearchField size="sm" label={texts.search} value={choice.query} onChange={(q) => onChoose({ q })} />
      </div>
      <div className={styles.chips} role="group" aria-label={texts.categories}>
        {[{ id: '', name: texts.all }, ...categories].map(({ id, name }) => (
          <ChoiceChip key={id} selected={choice.category === id} onClick={() => onChoose({ category: id })}>
            {name}
          </ChoiceChip>
        ))}
      </div>
      <div className={styles.make}>
        <IconLink to="/home/skill/library" label={texts.library}>
          <Settings2 size={18} />
        </IconLink>
        <ButtonLink to="/home/skill/new" size="sm">
          <Plus size={16} aria-hidden />
          <span>{texts.make}</span>
        </ButtonLink>
      </div>
    </div>
  )
}

interface ResultsProps extends BrowserProps {
  skills: Skill[]
  categories: Category[]
  threads: readonly Thread[]
}

function Results({ skills, categories, threads, choice, onChoose }: ResultsProps) {
  if (skills.length === 0) {
    return (
      <EmptyState title={texts.none}>
        <p>{texts.noneHint}</p>
      </EmptyState>
    )
  }
  const shown = shownSkills(skills, categories, threads, choice)
  if (shown.length === 0) {
    return (
      <EmptyState title={texts.empty}>
        <p>{texts.emptyHint}</p>
        <Button size="sm" onClick={() => onChoose({ q: '', category: '' })}>
          {texts.reset}
        </Button>
      </EmptyState>
    )
  }
  return (
    <>
      <p className="visually-hidden" role="status">
        {choice.query !== '' && texts.found(shown.length)}
      </p>
      <SkillCards skills={shown} />
    </>
  )
}
