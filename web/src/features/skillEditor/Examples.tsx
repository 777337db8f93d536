import { Trash2 } from 'lucide-react'
import { Button } from '@/components/Button'
import { TextArea } from '@/components/Field'
import { IconButton } from '@/components/IconButton'
import type { ContentProps } from './content'
import styles from './Editor.module.css'
import { texts } from './texts'

const words = texts.editor
const most = 5

/** Examples edits example questions and their expected answers. */
export function Examples({ content, errorOf, onChange }: ContentProps) {
  const { examples } = content
  const put = (index: number, change: Partial<(typeof examples)[number]>) =>
    onChange({
      ...content,
      examples: examples.map((item, at) => (at === index ? { ...item, ...change } : item)),
    })
  return (
    <fieldset className={styles.fields}>
      <legend>{words.examples}</legend>
      {examples.map(({ question, answer }, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: examples have no other identity.
        <div className={styles.card} key={index}>
          <TextArea
            label={words.question}
            rows={2}
            error={errorOf(`examples[${index}].question`)}
            value={question}
            onChange={(event) => put(index, { question: event.target.value })}
          />
          <TextArea
            label={words.answer}
            rows={3}
            error={errorOf(`examples[${index}].answer`)}
            value={answer}
            onChange={(event) => put(index, { answer: event.target.value })}
          />
          <div className={styles.cardFoot}>
            <IconButton
              label={words.removeExample(index + 1)}
              onClick={() =>
                onChange({ ...content, examples: examples.filter((_, other) => other !== index) })
              }
            >
              <Trash2 size={16} />
            </IconButton>
          </div>
        </div>
      ))}
      {examples.length < most && (
        <Button
          size="sm"
          onClick={() => onChange({ ...content, examples: [...examples, { question: '', answer: '' }] })}
        >
          {words.addExample}
        </Button>
      )}
    </fieldset>
  )
}
