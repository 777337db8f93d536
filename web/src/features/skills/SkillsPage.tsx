import { useQuery, useSuspenseQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { Button, ButtonLink } from '@/components/Button'
import { ChoiceChip } from '@/components/Chip'
import { PageTitle } from '@/components/PageTitle'
import { SearchField } from '@/components/SearchField'
import { EmptyState, ErrorState } from '@/components/States'
import { ThreadLine } from '@/components/ThreadLine'
import { findSkills } from '@/entities/skill/findSkills'
import { useThreads } from '@/entities/thread/threads'
import type { Category, Skill } from '@/lib/api'
import { categoriesQuery, meQuery, skillsQuery } from '@/lib/api/queries'
import { greeting } from '@/lib/ui/dates'
import { setValues, useQueryState } from '@/lib/ui/queryState'
import { ModelBanner } from './ModelBanner'
import { Notices } from './Notices'
import { SkillCards, SkillSkeletons } from './SkillCards'
import styles from './SkillsPage.module.css'
import { inCategories, recentSkills } from './select'
import { texts } from './texts'

/**
 * The skills: a greeting, the notices, a composer, and a card for each skill. The search and the category are in the
 * URL.
 */
export function SkillsPage({ composer }: { composer: ReactNode }) {
  const { data: me } = useSuspenseQuery(meQuery)
  const [params, change] = useQueryState()
  const query = params.get('q') ?? ''
  const category = params.get('category') ?? ''

  const set = (values: Record<string, string>) => change((next) => setValues(next, values))

  return (
    <div className={styles.page}>
      <PageTitle>{texts.title}</PageTitle>
      <ModelBanner role={me.role} />
      <Notices />
      <div className={styles.head}>
        <h1 className={styles.greeting}>{texts.greeting(greeting(), me.name)}</h1>
        <span className={styles.thread}>
          <ThreadLine />
        </span>
        <p className={styles.lead}>{texts.lead}</p>
        <div className={styles.composer}>{composer}</div>
      </div>
      <Browser
        query={query}
        category={category}
        onQuery={(value) => set({ q: value })}
        onCategory={(id) => set({ category: id })}
        onReset={() => set({ q: '', category: '' })}
      />
    </div>
  )
}

interface BrowserProps {
  query: string
  category: string
  onQuery: (value: string) => void
  onCategory: (id: string) => void
  onReset: () => void
}

function Browser({ query, category, onQuery, onCategory, onReset }: BrowserProps) {
  const skills = useQuery(skillsQuery)
  const categories = useQuery(categoriesQuery)
  const failed = skills.isError || categories.isError
  return (
    <>
      <div className={styles.tools}>
        <div className={styles.search}>
          <SearchField label={texts.search} clearLabel={texts.clear} value={query} onChange={onQuery} />
        </div>
        <div className={styles.make}>
          <ButtonLink to="/home/skill/new" size="sm">
            {texts.make}
          </ButtonLink>
          <ButtonLink to="/home/skill/library" size="sm" variant="quiet">
            {texts.library}
          </ButtonLink>
        </div>
        <div className={styles.chips} role="group" aria-label={texts.categories}>
          <ChoiceChip selected={category === ''} onClick={() => onCategory('')}>
            {texts.all}
          </ChoiceChip>
          {categories.data?.map((item) => (
            <ChoiceChip key={item.id} selected={category === item.id} onClick={() => onCategory(item.id)}>
              {item.name}
            </ChoiceChip>
          ))}
        </div>
      </div>
      {failed && (
        <ErrorState
          onRetry={() => {
            void skills.refetch()
            void categories.refetch()
          }}
        />
      )}
      {!failed && !(skills.data && categories.data) && (
        <div className={styles.groups}>
          <SkillSkeletons />
        </div>
      )}
      {skills.data && categories.data && (
        <Results
          skills={skills.data}
          categories={categories.data}
          query={query}
          category={category}
          onReset={onReset}
        />
      )}
    </>
  )
}

interface ResultsProps {
  skills: Skill[]
  categories: Category[]
  query: string
  category: string
  onReset: () => void
}

function Results({ skills, categories, query, category, onReset }: ResultsProps) {
  const { items: threads } = useThreads()
  const shown = findSkills(skills, query).filter((skill) => category === '' || skill.category_id === category)
  if (skills.length === 0) {
    return (
      <EmptyState title={texts.none}>
        <p>{texts.noneHint}</p>
      </EmptyState>
    )
  }
  if (shown.length === 0) {
    return (
      <EmptyState title={texts.empty}>
        <p>{texts.emptyHint}</p>
        <Button size="sm" onClick={onReset}>
          {texts.reset}
        </Button>
      </EmptyState>
    )
  }
  const recent = query === '' && category === '' ? recentSkills(skills, threads) : []
  return (
    <div className={styles.groups}>
      <p className="visually-hidden" role="status">
        {query !== '' && texts.found(shown.length)}
      </p>
      {recent.length > 0 && <SkillCards title={texts.recent} skills={recent} brief />}
      {inCategories(shown, categories).map(({ name, skills }) => (
        <SkillCards key={name} title={name} skills={skills} />
      ))}
    </div>
  )
}
