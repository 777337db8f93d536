import { useQuery } from '@tanstack/react-query'
import {
  type ChangeEvent,
  type KeyboardEvent,
  type ReactNode,
  type RefObject,
  useId,
  useLayoutEffect,
  useRef,
  useState,
} from 'react'
import { createPortal } from 'react-dom'
import { Floating } from '@/components/Floating'
import { SkillIcon } from '@/components/SkillIcon'
import { findSkills } from '@/entities/skill/findSkills'
import type { Skill } from '@/lib/api'
import { skillsQuery } from '@/lib/api/queries'
import { keepBeside } from '@/lib/ui/anchored'
import { ime } from '@/lib/ui/ime'
import { PHONE, useMedia } from '@/lib/ui/media'
import { texts } from '../texts'
import styles from './SkillPicker.module.css'

const words = texts.skills

/** On phones the button opens a sheet instead of the list above the composer, without the on-screen keyboard. */
const TOUCH_PHONE = `${PHONE} and (pointer: coarse)`

/** A mark that opens the list: @ or /, also full-width, at the beginning of a word. */
const MARK = /(?:^|\s)[@＠/／]$/

/** Place is the part of the text that searches for a skill: from the mark, or from the cursor without a mark. */
interface Place {
  readonly start: number
  readonly mark: 0 | 1
  readonly end: number
}

interface PickerOptions {
  readonly text: string
  readonly onText: (text: string) => void
  /** The effect of a choice, if it is not obvious. */
  readonly note: string | undefined
  /** Called with the chosen skill after the search was removed from the text. */
  readonly onChoose: (skill: Skill) => void
}

/**
 * useSkillPicker offers the skills while the user types a mark and a part of a name. The focus stays in the field. It
 * returns the properties of the field, a function for the button, and the list.
 */
export function useSkillPicker({ text, onText, note, onChoose }: PickerOptions) {
  const id = useId()
  const [place, setPlace] = useState<Place | null>(null)
  const [active, setActive] = useState(0)
  const anchor = useRef<HTMLTextAreaElement>(null)
  const opener = useRef<HTMLElement>(null)
  const touch = useMedia(TOUCH_PHONE)
  const sheet = touch && place?.mark === 0
  const skills = useQuery({ ...skillsQuery, enabled: place !== null }).data ?? []
  const query = place ? text.slice(place.start + place.mark, place.end) : ''
  const found = place ? findSkills(skills, query) : []
  const open = found.length > 0
  const current = found[Math.min(active, found.length - 1)]

  const close = () => setPlace(null)
  const show = (field: HTMLTextAreaElement, next: Place) => {
    anchor.current = field
    setPlace(next)
    setActive(0)
  }
  const choose = (skill: Skill) => {
    if (place) onText(text.slice(0, place.start) + text.slice(place.end))
    close()
    onChoose(skill)
  }
  const onChange = ({ target }: ChangeEvent<HTMLTextAreaElement>) => {
    const end = target.selectionStart
    const before = target.value.slice(0, end)
    if (place === null) {
      // A pasted text does not open the list.
      const typed = target.value.length === text.length + 1
      if (typed && MARK.test(before)) show(target, { start: end - 1, mark: 1, end })
      return
    }
    const from = place.start + place.mark
    if (end < from || /\s/.test(before.slice(from))) close()
    else show(target, { ...place, end })
  }
  /** Handles a key of the field, and reports whether it did. */
  const onKeyDown = (event: KeyboardEvent): boolean => {
    if (!open || ime.isComposing(event)) return false
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (step) setActive((found.indexOf(current as Skill) + step + found.length) % found.length)
    else if (event.key === 'Enter' || event.key === 'Tab') choose(current as Skill)
    else if (event.key === 'Escape') close()
    else {
      if (/^(Arrow|Home|End|Page)/.test(event.key)) close()
      return false
    }
    event.preventDefault()
    return true
  }
  const toggle = (field: HTMLTextAreaElement | null, button: HTMLElement) => {
    if (field === null) return
    opener.current = button
    if (touch) field.blur()
    else field.focus()
    const start = field.selectionStart
    if (place) close()
    else show(field, { start, mark: 0, end: start })
  }

  const listId = `${id}list`
  const optionId = (skill: Skill) => `${id}${skill.id}`
  const options = found.map((skill) => (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the keys of the field or the list choose it.
    // biome-ignore lint/a11y/useFocusableInteractive: the field or the list has the focus and uses aria-activedescendant.
    <div
      key={skill.id}
      id={optionId(skill)}
      className={styles.option}
      role="option"
      aria-selected={skill === current}
      ref={skill === current ? showOption : null}
      onClick={() => choose(skill)}
    >
      <SkillIcon path={skill.icon_path} size={20} />
      <span className={styles.name}>{skill.name}</span>
      <span className={styles.description}>{skill.description}</span>
    </div>
  ))
  const box = { anchor, id: listId, note, children: options }
  return {
    open,
    toggle,
    onKeyDown,
    field: {
      onChange,
      onBlur: close,
      'aria-autocomplete': 'list',
      'aria-controls': open ? listId : undefined,
      'aria-activedescendant': open && current ? optionId(current) : undefined,
    } as const,
    list:
      open &&
      (sheet ? (
        <Sheet
          {...box}
          anchor={opener}
          active={current && optionId(current)}
          onKeyDown={onKeyDown}
          onClose={close}
        />
      ) : (
        <List {...box} />
      )),
  }
}

interface ListProps {
  anchor: RefObject<HTMLElement | null>
  id: string
  note: string | undefined
  children: ReactNode
}

/** List is the list above the composer. A press on it leaves the focus in the field. */
function List({ anchor, id, note, children }: ListProps) {
  const box = useRef<HTMLDivElement>(null)
  useLayoutEffect(() => {
    const composer = anchor.current?.closest('form')
    if (!box.current || !composer) return
    box.current.style.width = `${composer.offsetWidth}px`
    return keepBeside(box.current, composer, 'top', 'start')
  }, [anchor])
  return createPortal(
    // biome-ignore lint/a11y/noStaticElementInteractions: it only keeps the focus.
    <div ref={box} className={styles.box} data-floating onMouseDown={(event) => event.preventDefault()}>
      {note && <p className={styles.note}>{note}</p>}
      <div id={id} className={styles.list} role="listbox" aria-label={words.label} tabIndex={0}>
        {children}
      </div>
    </div>,
    document.body,
  )
}

interface SheetProps extends ListProps {
  active: string | undefined
  onKeyDown: (event: KeyboardEvent) => void
  onClose: () => void
}

/** Sheet is the list at the bottom of a phone. It has the focus. */
function Sheet({ anchor, id, note, active, onKeyDown, onClose, children }: SheetProps) {
  return (
    <Floating
      anchor={anchor}
      align="start"
      sheet
      onClose={onClose}
      onOpen={(panel) => panel.querySelector('div')?.focus()}
    >
      {note && <p className={styles.note}>{note}</p>}
      <div
        id={id}
        className={styles.list}
        role="listbox"
        aria-label={words.label}
        aria-activedescendant={active}
        tabIndex={0}
        onKeyDown={onKeyDown}
      >
        {children}
      </div>
    </Floating>
  )
}

function showOption(option: HTMLElement | null): void {
  option?.scrollIntoView({ block: 'nearest' })
}
