import { useState } from 'react'
import { Button } from '@/components/Button'
import { Select } from '@/components/Field'
import { call, errorMessage, type OrganizationTool, type ToolRule, type ToolServer } from '@/lib/api'
import { Checkbox } from '@/lib/ui/Checkbox'
import { useTask } from '@/lib/ui/task'
import { toastFailure } from '@/lib/ui/toast'
import table from '../parts/Table.module.css'
import { storeToolServer } from '../queries'
import { tools } from '../texts'
import styles from './Tools.module.css'

const words = tools.table
const rules: readonly ToolRule[] = ['allow', 'ask', 'deny']

interface Setting {
  readonly rule?: ToolRule
  readonly read_only?: boolean
  readonly idempotent?: boolean
}

interface ToolLineProps {
  server: ToolServer
  tool: OrganizationTool
  onShow: () => void
}

/** A tool with its rule and its marks. */
export function ToolLine({ server, tool, onShow }: ToolLineProps) {
  const { busy, run } = useTask()
  const [pending, setPending] = useState<Setting>({})
  const { rule, read_only, idempotent } = { ...tool, ...pending }
  const set = async (body: Setting) => {
    setPending(body) // It is shown at once.
    await run(
      async () =>
        storeToolServer(await call('editTool', { tool_server_id: server.id, tool_name: tool.name, body })),
      (cause) => toastFailure(errorMessage(cause, words.notSaved)),
    )
    setPending({})
  }
  return (
    <tr>
      <th scope="row">
        {tool.title}
        <div className={styles.name}>
          <code>{tool.name}</code>
        </div>
        {tool.state !== 'usable' && (
          <div className={styles.state}>
            {words.states[tool.state]}
            {tool.state === 'refused' && tool.refused}
          </div>
        )}
      </th>
      <td data-label={words.rule}>
        <Select
          label={words.ruleOf(tool.title)}
          hideLabel
          value={rule}
          disabled={busy}
          onChange={(event) => void set({ rule: event.target.value as ToolRule })}
          options={rules.map((one) => [one, words.rules[one]])}
        />
      </td>
      <td data-label={words.marks}>
        <div className={styles.marks}>
          <Mark
            label={words.readOnly}
            of={words.readOnlyOf(tool.title)}
            checked={read_only}
            disabled={busy}
            onChange={(on) => void set({ read_only: on })}
          />
          <Mark
            label={words.idempotent}
            of={words.idempotentOf(tool.title)}
            checked={idempotent}
            disabled={busy}
            onChange={(on) => void set({ idempotent: on })}
          />
        </div>
      </td>
      <td className={table.narrow}>
        <Button size="sm" variant={tool.state === 'changed' ? 'primary' : 'secondary'} onClick={onShow}>
          <span className="visually-hidden">{tools.server.of(tool.title)}</span>
          {tool.state === 'changed' ? words.review : words.show}
        </Button>
      </td>
    </tr>
  )
}

interface MarkProps {
  label: string
  /** The accessible name, with the name of the tool. */
  of: string
  checked: boolean
  disabled: boolean
  onChange: (checked: boolean) => void
}

function Mark({ label, of, checked, disabled, onChange }: MarkProps) {
  return (
    <label className={styles.check}>
      <Checkbox
        aria-label={of}
        checked={checked}
        disabled={disabled}
        onChange={(event) => onChange(event.target.checked)}
      />
      {label}
    </label>
  )
}
