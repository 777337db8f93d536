import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { Button } from '@/components/Button'
import { EmptyState, ErrorState } from '@/components/States'
import { endShare } from '@/entities/share/shares'
import type { Share } from '@/lib/api'
import { readAnew } from '@/lib/api/queries'
import { cx } from '@/lib/ui/cx'
import { formatFull } from '@/lib/ui/dates'
import { toast, toastFailure } from '@/lib/ui/toast'
import { ConfirmDialog } from '../parts/ConfirmDialog'
import { LinesLoading } from '../parts/Loading'
import { Page } from '../parts/Page'
import { Paging } from '../parts/Paging'
import table from '../parts/Table.module.css'
import { sharesQuery } from '../queries'
import { texts } from '../texts'
import { useUrlState } from '../urlState'

const words = texts.shares

/** The members' shares within the organization, which can be ended here. */
export function SharesPage() {
  const url = useUrlState()
  const { data, isError, isPlaceholderData, refetch } = useQuery({
    ...sharesQuery(url.page),
    placeholderData: (before) => before,
  })
  return (
    <Page title={words.title} lead={words.lead}>
      <div className={table.box}>
        {data === undefined && (isError ? <ErrorState onRetry={() => void refetch()} /> : <LinesLoading />)}
        {data?.total === 0 && <EmptyState title={words.none} />}
        {data && data.items.length > 0 && <Shares shares={data.items} busy={isPlaceholderData} />}
        {data && <Paging url={url} total={data.total} shown={data.items.length} />}
      </div>
    </Page>
  )
}

function Shares({ shares, busy }: { shares: readonly Share[]; busy: boolean }) {
  const [ending, setEnding] = useState<Share | null>(null)
  return (
    <>
      <table className={cx(table.table, table.stacked)} aria-busy={busy}>
        <caption className="visually-hidden">{words.title}</caption>
        <thead>
          <tr>
            <th scope="col">{words.name}</th>
            <th scope="col">{words.owner}</th>
            <th scope="col">{words.at}</th>
            <th scope="col" className={table.narrow}>
              <span className="visually-hidden">{words.actions}</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {shares.map((share) => (
            <tr key={share.id}>
              <th scope="row">
                <a href={`/share/${share.id}`} target="_blank" rel="noreferrer">
                  {share.title}
                </a>
              </th>
              <td data-label={words.owner}>{share.owner_name}</td>
              <td className={cx(table.nowrap, table.quiet)} data-label={words.at}>
                {formatFull(share.updated_at)}
              </td>
              <td className={table.narrow}>
                <Button size="sm" onClick={() => setEnding(share)}>
                  <span className="visually-hidden">{words.of(share.title)}</span>
                  {words.end}
                </Button>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {ending && <EndDialog share={ending} onClose={() => setEnding(null)} />}
    </>
  )
}

function EndDialog({ share, onClose }: { share: Share; onClose: () => void }) {
  const [busy, setBusy] = useState(false)
  const end = async () => {
    setBusy(true)
    try {
      await endShare(share.id)
      toast(words.ended, { tone: 'success' })
      onClose()
      await readAnew(['admin', 'shares'])
    } catch {
      setBusy(false)
      toastFailure(words.notEnded)
    }
  }
  return (
    <ConfirmDialog
      title={words.confirm}
      confirm={words.end}
      danger
      busy={busy}
      onConfirm={() => void end()}
      onClose={onClose}
    >
      <p>{words.confirmBody(share.owner_name, share.title)}</p>
    </ConfirmDialog>
  )
}
