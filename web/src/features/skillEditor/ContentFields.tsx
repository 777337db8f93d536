import { useQuery } from '@tanstack/react-query'
import { useLayoutEffect, useRef } from 'react'
import { Button } from '@/components/Button'
import { Select, TextArea, TextField } from '@/components/Field'
import { SkillIcon } from '@/components/SkillIcon'
import { modelChoiceQuery, modelOf } from '@/entities/model/models'
import type { SkillContent, SkillDocument } from '@/lib/api'
import { Checkbox } from '@/lib/ui/Checkbox'
import { withTool } from './chosenTools'
import { type ContentProps, iconPath, icons, linesOf, tools } from './content'
import { Documents } from './Documents'
import styles from './Editor.module.css'
import { Examples } from './Examples'
import { FormFields } from './FormFields'
import { ModelField } from './ModelField'
import { OrganizationTools } from './OrganizationTools'
import { allCategoriesQuery } from './queries'
import { texts } from './texts'

const words = texts.editor

/** ContentFields edits the content of a skill. */
export function ContentFields({
  documents,
  missing,
  ...props
}: ContentProps & { documents: readonly SkillDocument[]; missing: number }) {
  const { content, errorOf, onChange } = props
  const set = (change: Partial<SkillContent>) => onChange({ ...content, ...change })
  const wrong = ['suggestions', 'answer_length', 'model', 'examples', 'keywords'].some((field) =>
    errorOf(field),
  )
  const more = useRef<HTMLDetailsElement>(null)
  // Before the first invalid field gets the focus.
  useLayoutEffect(() => {
    if (wrong && more.current) more.current.open = true
  }, [wrong])
  return (
    <>
      <Names {...props} />
      <Prompt {...props} />
      <FormFields {...props} />
      <Documents
        chosen={content.document_ids}
        saved={documents}
        missing={missing}
        error={errorOf('document_ids')}
        onChange={(document_ids) => set({ document_ids })}
      />
      <label className={styles.check}>
        <Checkbox
          checked={content.accepts_data_sources}
          onChange={(event) => set({ accepts_data_sources: event.target.checked })}
        />
        {words.accepts}
      </label>
      {content.kind !== 'proofreading_v2' && <Tools {...props} />}
      <details className={styles.more} ref={more}>
        <summary>{words.more}</summary>
        {content.form_fields.length === 0 && (
          <TextArea
            label={words.suggestions}
            hint={words.suggestionsHint}
            optional
            rows={3}
            error={errorOf('suggestions')}
            value={content.suggestions.join('\n')}
            onChange={(event) => set({ suggestions: linesOf(event.target.value) })}
          />
        )}
        <Select
          label={words.answerLength}
          value={content.answer_length}
          onChange={(event) => set({ answer_length: event.target.value as SkillContent['answer_length'] })}
          options={(['', 'short', 'standard', 'long'] as const).map((length) => [
            length,
            words.lengths[length],
          ])}
        />
        <ModelField {...props} />
        <Examples {...props} />
        <TextArea
          label={words.keywords}
          hint={words.keywordsHint}
          optional
          rows={2}
          error={errorOf('keywords')}
          value={content.keywords.join('\n')}
          onChange={(event) => set({ keywords: linesOf(event.target.value) })}
        />
      </details>
    </>
  )
}

/** Tools chooses the tools that answers may call. */
function Tools({ content, errorOf, onChange }: ContentProps) {
  const error = errorOf('tools')
  const choice = useQuery(modelChoiceQuery()).data
  const model = choice && modelOf(choice, content.model)
  const refused = model?.no_tools === true && content.tools.length > 0
  return (
    <fieldset className={styles.tools} aria-describedby="tools-hint">
      <legend>{words.tools}</legend>
      <p id="tools-hint">{error ?? (refused ? words.toolsRefused(model.name) : words.toolsHint)}</p>
      {tools.map((name) => (
        <label key={name} className={styles.check}>
          <Checkbox
            checked={content.tools.includes(name)}
            onChange={(event) =>
              onChange({
                ...content,
                tools: withTool(content.tools, name, event.target.checked),
              })
            }
          />
          {words.toolNames[name]}
        </label>
      ))}
      <OrganizationTools chosen={content.tools} onChange={(next) => onChange({ ...content, tools: next })} />
    </fieldset>
  )
}

function Names({ content, errorOf, onChange }: ContentProps) {
  const categories = useQuery(allCategoriesQuery).data ?? []
  const set = (change: Partial<SkillContent>) => onChange({ ...content, ...change })
  const emoji = (icons as readonly string[]).includes(content.icon) ? '' : content.icon
  return (
    <>
      <TextField
        label={words.name}
        error={errorOf('name')}
        value={content.name}
        onChange={(event) => set({ name: event.target.value })}
      />
      <TextArea
        label={words.description}
        hint={words.descriptionHint}
        rows={2}
        error={errorOf('description')}
        value={content.description}
        onChange={(event) => set({ description: event.target.value })}
      />
      <fieldset className={styles.icons}>
        <legend>{words.icon}</legend>
        <div>
          {icons.map((icon) => (
            <label key={icon}>
              <input
                type="radio"
                name="icon"
                className="visually-hidden"
                aria-label={words.icons[icon]}
                checked={content.icon === icon}
                onChange={() => set({ icon })}
              />
              <SkillIcon path={iconPath(icon)} size={28} />
            </label>
          ))}
        </div>
        <TextField
          label={words.emoji}
          hint={words.emojiHint}
          optional
          error={errorOf('icon')}
          value={emoji}
          onChange={(event) => set({ icon: event.target.value.trim() || 'default' })}
        />
      </fieldset>
      <Select
        label={words.category}
        error={errorOf('category_id')}
        value={content.category_id}
        onChange={(event) => set({ category_id: event.target.value })}
        options={categories.map(({ id, name }) => [id, name])}
      />
    </>
  )
}

function Prompt({ content, errorOf, onChange }: ContentProps) {
  const field = useRef<HTMLTextAreaElement>(null)
  const insert = (label: string) => {
    const element = field.current
    if (element === null) return
    const text = `{{${label}}}`
    const { selectionStart: from, selectionEnd: to } = element
    onChange({ ...content, prompt: content.prompt.slice(0, from) + text + content.prompt.slice(to) })
    element.focus()
    requestAnimationFrame(() => element.setSelectionRange(from + text.length, from + text.length))
  }
  return (
    <div className={styles.prompt}>
      <TextArea
        ref={field}
        label={words.prompt}
        hint={words.promptHint}
        rows={12}
        error={errorOf('prompt')}
        value={content.prompt}
        onChange={(event) => onChange({ ...content, prompt: event.target.value })}
      />
      <div className={styles.variables}>
        {content.form_fields
          .filter(({ label }) => label !== '')
          .map(({ name, label }) => (
            <Button key={name} size="sm" onClick={() => insert(label)}>
              {words.insert(label)}
            </Button>
          ))}
      </div>
    </div>
  )
}
