import type { DataSource } from '@/lib/api'
import { formatNumber } from '@/lib/ui/numbers'
import { pageUnit } from './files'

const statuses = {
  pending: '待機中',
  running: '読み取り中',
  success: '読み取り済み',
  failed: '読み取れませんでした',
} as const

const units = { page: 'ページ', slide: '枚', sheet: 'シート' } as const

/** describeStatus returns the status of a data source in words: 読み取り中 12/120ページ. */
export function describeStatus({ status, progress, filename }: DataSource): string {
  if (status !== 'running' || progress === undefined) return statuses[status]
  const { stage, done, total } = progress
  const count = total > 0 ? ` ${formatNumber(done)}/${formatNumber(total)}` : ''
  if (stage === 'reading') return `${statuses.running}${count && `${count}${units[pageUnit(filename)]}`}`
  return stage === 'indexing' ? '索引を作成中' : `意味を解析中${count}`
}
