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
export const icons = [
  'default',
  'chat',
  'mail',
  'report',
  'minutes',
  'document-qa',
  'summary',
  'translation',
  'proofreading',
  'rephrase',
  'proposal',
  'ideas',
  'spreadsheet',
  'code',
  'glossary',
  'interview',
  'job-posting',
  'sparring',
  'page',
  'web-search',
] as const

/** tools are the names of the tools that answers may call. */
export const tools = ['search_documents', 'search_web', 'read_page', 'calendar', 'calculate'] as const

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

interface DiffLine {
  readonly kind: 'same' | 'removed' | 'added'
  readonly text: string
}

/** diffLines compares two texts line by line, using the longest common subsequence. */
export function diffLines(before: string, after: string): DiffLine[] {
  const a = before.split('\n')
  const b = after.split('\n')
  // For long prompts with few common lines, a table of all pairs would be too large.
  if (a.length * b.length > 4_000_000)
    return [
      ...a.map((text) => ({ kind: 'removed', text }) as const),
      ...b.map((text) => ({ kind: 'added', text }) as const),
    ]
  const width = b.length + 1
  const common = new Uint32Array((a.length + 1) * width)
  for (let i = a.length - 1; i >= 0; i--)
    for (let j = b.length - 1; j >= 0; j--)
      common[i * width + j] =
        a[i] === b[j]
          ? (common[(i + 1) * width + j + 1] ?? 0) + 1
          : Math.max(common[(i + 1) * width + j] ?? 0, common[i * width + j + 1] ?? 0)
  const lines: DiffLine[] = []
  let i = 0
  let j = 0
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      lines.push({ kind: 'same', text: a[i] ?? '' })
      i++
      j++
    } else if (
      j >= b.length ||
      (i < a.length && (common[(i + 1) * width + j] ?? 0) >= (common[i * width + j + 1] ?? 0))
    ) {
      lines.push({ kind: 'removed', text: a[i] ?? '' })
      i++
    } else {
      lines.push({ kind: 'added', text: b[j] ?? '' })
      j++
    }
  }
  return lines
}
