import type {
  ApiError,
  MadeSkill,
  Skill,
  SkillAudience,
  SkillContent,
  SkillGroup,
  SkillMember,
} from '@/lib/api'
import { texts } from './texts'

/** icons are the app's own icons, which skills can use in addition to emoji. */
export const icons = Object.keys(texts.editor.icons) as (keyof typeof texts.editor.icons)[]

/** tools are the names of the tools that answers may call. */
export const tools = Object.keys(texts.editor.toolNames) as (keyof typeof texts.editor.toolNames)[]

/** Draft is the edited skill as stored in the browser. */
export interface Draft {
  readonly audience: SkillAudience
  /** The chosen members if the audience is `members`. */
  readonly members: readonly SkillMember[]
  /** The chosen groups if the audience is `members`. */
  readonly groups: readonly SkillGroup[]
  readonly content: SkillContent
  /** The version that the draft modifies; 0 for a new skill. */
  readonly version: number
}

/** ContentProps are the properties of fields that edit the content of a skill. */
export interface ContentProps {
  readonly content: SkillContent
  readonly errorOf: (field: string) => string | undefined
  readonly onChange: (content: SkillContent) => void
}

/** errorIn returns the message of a failed call for a field of the request, or for the first invalid item of a list. */
export function errorIn(failure: ApiError | null, field: string): string | undefined {
  return failure?.field(field) ?? failure?.fields.find((item) => item.field.startsWith(`${field}[`))?.message
}

/** emptyDraft returns a new personal skill. */
export function emptyDraft(categoryId: string): Draft {
  return {
    audience: 'self',
    members: [],
    groups: [],
    version: 0,
    content: {
      name: '',
      description: '',
      icon: 'default',
      category_id: categoryId,
      kind: '',
      task_type: '',
      form_fields: [],
      suggestions: [],
      keywords: [],
      accepts_data_sources: false,
      prompt: '',
      answer_length: '',
      model: '',
      examples: [],
      document_ids: [],
      tools: [],
    },
  }
}

/** draftOf returns a draft of a saved skill. */
export function draftOf(made: MadeSkill): Draft {
  return {
    audience: made.audience,
    members: made.members,
    groups: made.groups,
    content: made.content,
    version: made.version,
  }
}

/** iconPath returns the server's path for an icon, given by name or as an emoji. */
export function iconPath(icon: string): string {
  if ((icons as readonly string[]).includes(icon) || icon === '')
    return `/icons/skills/${icon || 'default'}.svg`
  return `/icons/emoji/${[...icon].map((c) => c.codePointAt(0)?.toString(16)).join('-')}.svg`
}

/** previewOf returns the skill that users would see for a content. */
export function previewOf(content: SkillContent, slot: string): Skill {
  return {
    id: `trial-${slot}`,
    name: content.name.trim() || texts.trial.unnamed,
    description: content.description,
    icon_path: iconPath(content.icon),
    category_id: content.category_id,
    kind: content.kind,
    ...(content.task_type && { task_type: content.task_type as 'document_qa' | 'summarization' }),
    form_type: content.form_fields.length > 0 ? 'form' : 'chat',
    form_fields: content.form_fields,
    suggestions: content.suggestions,
    keywords: content.keywords,
    accepts_data_sources:
      content.accepts_data_sources || content.form_fields.some(({ type }) => type === 'file'),
    is_favorite: false,
    origin: 'own',
  }
}

/** nextFieldName returns an unused name for a new field. */
export function nextFieldName(content: SkillContent): string {
  const taken = new Set(content.form_fields.map(({ name }) => name))
  let n = content.form_fields.length + 1
  while (taken.has(`field_${n}`)) n++
  return `field_${n}`
}

/** linesOf splits the text of a field that holds one item per line. */
export const linesOf = (text: string): string[] => (text === '' ? [] : text.split('\n'))
