import { queryOptions, useQuery } from '@tanstack/react-query'
import { ErrorState } from '@/components/States'
import { call } from '@/lib/api'
import { Checkbox } from '@/lib/ui/Checkbox'
import { withTool } from './chosenTools'
import { tools } from './content'
import styles from './Editor.module.css'

const words = {
  ask: '（実行の前に、そのつど確認します）',
  unknown: '使えないツール',
  unknownHint: 'サーバーから削除されたか、確認待ちか、使う権限がありません。',
}

const toolsQuery = queryOptions({
  queryKey: ['tools'],
  queryFn: ({ signal }) => call('listTools', { signal }),
  select: ({ items }) => items.filter((server) => server.tools.length > 0),
  staleTime: 0,
})

interface OrganizationToolsProps {
  readonly chosen: readonly string[]
  readonly onChange: (chosen: string[]) => void
}

/** OrganizationTools chooses tools of the organization's servers, by server. */
export function OrganizationTools({ chosen, onChange }: OrganizationToolsProps) {
  const { data, isError, refetch } = useQuery(toolsQuery)
  if (!data) return isError ? <ErrorState onRetry={() => void refetch()} /> : null
  const known = new Set<string>([...tools, ...data.flatMap((server) => server.tools.map(({ name }) => name))])
  const unknown = chosen.filter((name) => !known.has(name))
  const box = (name: string, label: string) => (
    <label key={name} className={styles.check}>
      <Checkbox
        checked={chosen.includes(name)}
        onChange={(event) => onChange(withTool(chosen, name, event.target.checked))}
      />
      {label}
    </label>
  )
  return (
    <>
      {data.map((server) => (
        <fieldset key={server.key} className={styles.tools}>
          <legend>{server.name}</legend>
          {server.tools.map(({ name, title, rule }) =>
            box(name, rule === 'ask' ? `${title}${words.ask}` : title),
          )}
        </fieldset>
      ))}
      {unknown.length > 0 && (
        <fieldset className={styles.tools}>
          <legend>{words.unknown}</legend>
          <p>{words.unknownHint}</p>
          {unknown.map((name) => box(name, name))}
        </fieldset>
      )}
    </>
  )
}
