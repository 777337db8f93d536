import { useQuery } from '@tanstack/react-query'
import { Plus } from 'lucide-react'
import { useState } from 'react'
import { Button } from '@/components/Button'
import { EmptyState, Loaded } from '@/components/States'
import { BoxesLoading } from '../parts/Loading'
import { Page } from '../parts/Page'
import { toolServersQuery } from '../queries'
import { tools as words } from '../texts'
import { ServerForm } from './ServerForm'
import { ServerSection } from './ServerSection'

/** The tool servers of the organization, with their tools. */
export function ToolsPage() {
  const [adding, setAdding] = useState(false)
  const query = useQuery(toolServersQuery)
  return (
    <Page
      title={words.title}
      lead={words.lead}
      actions={
        <Button variant="primary" onClick={() => setAdding(true)}>
          <Plus size={16} aria-hidden />
          {words.add}
        </Button>
      }
    >
      <Loaded
        query={query}
        loading={<BoxesLoading heights={[64, 220]} />}
        empty={
          <EmptyState title={words.none}>
            <p>{words.noneHint}</p>
          </EmptyState>
        }
      >
        {(servers) => servers.map((server) => <ServerSection key={server.id} server={server} />)}
      </Loaded>
      {adding && <ServerForm onClose={() => setAdding(false)} />}
    </Page>
  )
}
