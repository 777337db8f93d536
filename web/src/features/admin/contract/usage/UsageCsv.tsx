import { useState } from 'react'
import { Select, TextField } from '@/components/Field'
import { call } from '@/lib/api'
import { Section } from '../../parts/Page'
import { SaveCsv } from '../../parts/SaveCsv'
import { contract } from '../../texts'
import styles from './UsageCsv.module.css'

const words = contract.csv

type By = 'member' | 'model' | 'tool'

/** Saves the usage of a period, by day and member, model, or tool and skill. */
export function UsageCsv({ today }: { today: string }) {
  const [from, setFrom] = useState(`${today.slice(0, 8)}01`)
  const [to, setTo] = useState(today)
  const [by, setBy] = useState<By>('member')
  return (
    <Section title={words.title} lead={words.lead}>
      <div className={styles.form}>
        <TextField
          label={words.from}
          type="date"
          value={from}
          max={to}
          onChange={(e) => setFrom(e.target.value)}
        />
        <TextField
          label={words.to}
          type="date"
          value={to}
          min={from}
          onChange={(e) => setTo(e.target.value)}
        />
        <Select label={words.by} value={by} onChange={(event) => setBy(event.target.value as By)}>
          <option value="member">{words.byMember}</option>
          <option value="model">{words.byModel}</option>
          <option value="tool">{words.byTool}</option>
        </Select>
        <SaveCsv
          name={`tsumugi-usage${by === 'member' ? '' : `-${by}`}-${from}-${to}`}
          load={() => call('exportUsage', { from, to, by })}
        />
      </div>
    </Section>
  )
}
