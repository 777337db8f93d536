import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { Button, ButtonLink } from '@/components/Button'
import { Dialog } from '@/components/Dialog'
import { guidanceQuery } from '@/entities/guidance/guidance'
import type { Guidance } from '@/lib/api'
import { texts } from '../texts'
import styles from './GuidanceNote.module.css'

const words = texts.guidance

/** GuidanceNote shows the instructions that are sent with every question. It is empty without instructions. */
export function GuidanceNote() {
  const { data } = useQuery(guidanceQuery)
  const [open, setOpen] = useState(false)
  if (data === undefined) return null
  const lines = aboutLines(data)
  const names = [data.instructions && words.instructions, lines.length > 0 && words.about].filter(Boolean)
  if (names.length === 0) return null
  return (
    <>
      <button type="button" className={styles.link} onClick={() => setOpen(true)}>
        {words.sent(names.join(words.and))}
      </button>
      {open && (
        <Dialog
          title={words.title}
          onClose={() => setOpen(false)}
          actions={
            <>
              <ButtonLink to="/setting/about">{words.edit}</ButtonLink>
              <Button variant="primary" onClick={() => setOpen(false)}>
                {texts.close}
              </Button>
            </>
          }
        >
          <p className={styles.lead}>{words.lead}</p>
          {data.instructions && <Part title={words.instructions} text={data.instructions} />}
          {lines.length > 0 && <Part title={words.about} text={lines.join('\n')} />}
        </Dialog>
      )}
    </>
  )
}

function Part({ title, text }: { title: string; text: string }) {
  return (
    <section className={styles.part}>
      <h3>{title}</h3>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard. */}
      <p tabIndex={0}>{text}</p>
    </section>
  )
}

function aboutLines({ about }: Guidance): string[] {
  return (['name', 'department', 'tone', 'signature'] as const)
    .filter((name) => about[name] !== '')
    .map((name) => `${words.fields[name]}：${name === 'signature' ? '\n' : ''}${about[name]}`)
}
