import { useQuery } from '@tanstack/react-query'
import type { SkillContent } from '@/lib/api'
import { allCategoriesQuery } from './queries'
import { texts } from './texts'

const toolNames: Record<string, string> = texts.editor.toolNames
const iconNames: Record<string, string> = texts.editor.icons

/**
 * described formats a content as lines, so that a diff shows every difference. `names` are the names of categories and
 * documents, by id.
 */
export function described(content: SkillContent, names: ReadonlyMap<string, string>): string {
  const e = texts.editor
  return [
    `${e.name}：${content.name}`,
    `${e.description}：${content.description.replace('\n', ' / ')}`,
    `${e.category}：${names.get(content.category_id) ?? e.unnamedCategory}`,
    `${e.icon}：${iconNames[content.icon] ?? content.icon}`,
    `${e.answerLength}：${e.lengths[content.answer_length]}`,
    `${e.model}：${content.model || e.noModel}`,
    ...content.form_fields.map((f) => {
      const example = f.placeholder && `${e.placeholder}：${f.placeholder}`
      const facts = [e.types[f.type], f.required && '必須', example].filter(Boolean).join('・')
      return `${e.fields}：${f.label}（${facts}）${(f.options ?? []).join('、')}`
    }),
    ...content.suggestions.map((text) => `${e.suggestions}：${text}`),
    ...content.keywords.map((text) => `${e.keywords}：${text}`),
    ...content.examples.map(({ question, answer }) => `${e.examples}：${question} → ${answer}`),
    ...content.document_ids.map((id) => `${e.documents}：${names.get(id) ?? e.unnamedDocument(id)}`),
    ...(content.accepts_data_sources ? [e.accepts] : []),
    `${e.tools}：${content.tools.map((name) => toolNames[name] ?? name).join('、') || e.noTools}`,
    `${e.prompt}：`,
    content.prompt,
  ].join('\n')
}

/** useNames returns the names of all categories and of documents, by id. */
export function useNames(
  documents: readonly { readonly id: string; readonly filename: string }[],
): ReadonlyMap<string, string> {
  const categories = useQuery(allCategoriesQuery).data ?? []
  return new Map([
    ...categories.map(({ id, name }) => [id, name] as const),
    ...documents.map(({ id, filename }) => [id, filename] as const),
  ])
}
