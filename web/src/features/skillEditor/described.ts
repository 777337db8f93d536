import type { SkillContent } from '@/lib/api'
import { texts } from './texts'

const toolNames: Record<string, string> = texts.editor.toolNames

/** described formats a content as lines, so that a diff shows every difference. */
export function described(content: SkillContent): string {
  const e = texts.editor
  return [
    `${e.name}: ${content.name}`,
    `${e.description}: ${content.description.replace('\n', ' / ')}`,
    `${e.icon}: ${content.icon}`,
    `${e.answerLength}: ${e.lengths[content.answer_length]}`,
    `${e.model}: ${content.model || e.noModel}`,
    ...content.form_fields.map(
      (f) =>
        `${e.fields}: ${f.label}（${e.types[f.type]}${f.required ? '・必須' : ''}）${(f.options ?? []).join('、')}`,
    ),
    ...content.suggestions.map((text) => `${e.suggestions}: ${text}`),
    ...content.keywords.map((text) => `${e.keywords}: ${text}`),
    ...content.examples.map(({ question, answer }) => `${e.examples}: ${question} → ${answer}`),
    `${e.documents}: ${content.document_ids.length}件`,
    `${e.tools}: ${content.tools.map((name) => toolNames[name] ?? name).join('、') || e.noTools}`,
    `${e.prompt}:`,
    content.prompt,
  ].join('\n')
}
