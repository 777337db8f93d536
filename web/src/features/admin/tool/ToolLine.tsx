import { Button } from '@/components/Button'
import { Select } from '@/components/Field'
import { call, errorMessage, type OrganizationTool, type ToolRule, type ToolServer } from '@/lib/api'
import { Checkbox } from '@/lib/ui/Checkbox'
import { useTask } from '@/lib/ui/task'
import { toastFailure } from '@/lib/ui/toast'
import table from '../parts/Table.module.css'
import { storeToolServer } from '../queries'
import { texts } from '../texts'
import styles from './Tools.module.css'

const words = texts.tools.table
const rules: readonly ToolRule[] = ['allow', 'ask', 'deny']

interface ToolLineProps {
  server: ToolServer
  tool: OrganizationTool
  onShow: () => void
}

/** A tool with its rule and its marks. */
export function ToolLine({ server, tool, onShow }: ToolLineProps) {
  const { busy, run } = useTask()
  const set = (body: { rule?: ToolRule; read_only?: boolean; idempotent?: boolean }) =>
    void run(
      async () =>
        storeToolServer(await call('editTool', { tool_server_id: server.id, tool_name: tool.name, body })),
      (cause) => toastFailure(errorMessage(cause, words.notSaved)),
    )
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
          value={tool.rule}
          disabled={busy}
          onChange={(event) => set({ rule: event.target.value as ToolRule })}
        >
          {rules.map((rule) => (
            <option key={rule} value={rule}>
              {words.rules[rule]}
            </option>
          ))}
        </Select>
      </td>
      <td data-label={words.marks}>
        <div className={styles.marks}>
          <Mark
            label={words.readOnly}
            of={words.readOnlyOf(tool.title)}
            checked={tool.read_only}
            disabled={busy}
            onChange={(read_only) => set({ read_only })}
          />
          <Mark
            label={words.idempotent}
            of={words.idempotentOf(tool.title)}
            checked={tool.idempotent}
            disabled={busy}
            onChange={(idempotent) => set({ idempotent })}
          />
        </div>
      </td>
      <td className={table.narrow}>
        <Button size="sm" variant={tool.state === 'changed' ? 'primary' : 'secondary'} onClick={onShow}>
          <span className="visually-hidden">{texts.tools.server.of(tool.title)}</span>
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
