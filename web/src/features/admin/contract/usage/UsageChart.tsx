import { type CSSProperties, type KeyboardEvent, type PointerEvent, useRef, useState } from 'react'
import type { DayUsage } from '@/lib/api'
import { formatNumber } from '@/lib/ui/numbers'
import { formatShort, formatTick, formatWeekday } from '../../format'
import { contract } from '../../texts'
import styles from './UsageChart.module.css'
import { heightOf, type Measure, ticksFor } from './usage'

const words = contract.usage
/** The number of days between two dates under the chart. */
const EVERY = 5

/**
 * A chart with a bar for each day. It is one tab stop: the arrow keys move between days as on a slider. The selected or
 * hovered day shows its numbers.
 */
export function UsageChart({ days, measure }: { days: readonly DayUsage[]; measure: Measure }) {
  const [shown, setShown] = useState<number | null>(null)
  const plot = useRef<HTMLDivElement>(null)
  const ticks = ticksFor(Math.max(0, ...days.map((day) => heightOf(day, measure))))
  const top = ticks.at(-1) ?? 1
  const last = days.length - 1
  const day = days[shown ?? last]

  const onPointer = (event: PointerEvent) => {
    const box = plot.current?.getBoundingClientRect()
    if (!box) return
    const at = Math.floor(((event.clientX - box.left) / box.width) * days.length)
    setShown(Math.min(last, Math.max(0, at)))
  }
  const onKeyDown = (event: KeyboardEvent) => {
    const at = shown ?? last
    const next = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: last, Escape: null }[event.key]
    if (next === undefined) return
    event.preventDefault()
    setShown(next === null ? null : Math.min(last, Math.max(0, next)))
  }

  if (day === undefined) return null
  return (
    <div className={styles.chart}>
      <div className={styles.ticks} aria-hidden>
        {ticks.map((tick) => (
          <span key={tick} style={{ bottom: `${(tick / top) * 100}%` }}>
            {formatShort(tick)}
          </span>
        ))}
      </div>
      <div
        ref={plot}
        className={styles.plot}
        role="slider"
        tabIndex={0}
        aria-label={words.chart(words[measure])}
        aria-valuemin={1}
        aria-valuemax={days.length}
        aria-valuenow={(shown ?? last) + 1}
        aria-valuetext={sentence(day)}
        onPointerMove={onPointer}
        onPointerDown={onPointer}
        onPointerLeave={(event) => event.pointerType === 'mouse' && setShown(null)}
        onFocus={(event) => event.currentTarget.matches(':focus-visible') && setShown(shown ?? last)}
        onBlur={() => setShown(null)}
        onKeyDown={onKeyDown}
      >
        {ticks.map((tick) => (
          <span key={tick} className={styles.line} style={{ bottom: `${(tick / top) * 100}%` }} />
        ))}
        <div className={styles.bars}>
          {days.map((item, index) => (
            <Bar key={item.date} day={item} measure={measure} top={top} selected={index === shown} />
          ))}
        </div>
        {shown !== null && <Tip day={day} at={(shown + 0.5) / days.length} />}
      </div>
      <div className={styles.dates} aria-hidden>
        {days.map((item, index) => (
          <span key={item.date}>{(last - index) % EVERY === 0 ? formatTick(item.date) : ''}</span>
        ))}
      </div>
    </div>
  )
}

function Bar({
  day,
  measure,
  top,
  selected,
}: {
  day: DayUsage
  measure: Measure
  top: number
  selected: boolean
}) {
  const percent = (value: number) => ({ height: `${(value / top) * 100}%` })
  return (
    <span className={styles.bar} data-selected={selected || undefined}>
      {measure === 'tokens' ? (
        <>
          <span className={styles.output} style={percent(day.output_tokens)} />
          <span className={styles.input} style={percent(day.input_tokens)} />
        </>
      ) : (
        <span className={styles.output} style={percent(day.messages)} />
      )}
    </span>
  )
}

function Tip({ day, at }: { day: DayUsage; at: number }) {
  return (
    <div className={styles.tip} style={{ '--at': at } as CSSProperties}>
      <strong>{formatWeekday(day.date)}</strong>
      <span>
        {words.input} <b>{formatNumber(day.input_tokens)}</b>
      </span>
      <span>
        {words.output} <b>{formatNumber(day.output_tokens)}</b>
      </span>
      <span>
        {words.messages} <b>{formatNumber(day.messages)}</b>
      </span>
    </div>
  )
}

function sentence(day: DayUsage): string {
  return words.day(
    formatWeekday(day.date),
    formatNumber(day.messages),
    formatNumber(day.input_tokens),
    formatNumber(day.output_tokens),
  )
}
