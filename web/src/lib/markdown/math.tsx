import katex from 'katex'
import { useLayoutEffect, useRef, useState } from 'react'
import remarkMath from 'remark-math'
import { formulaLimits } from './formulaLimits'
import { texts } from './texts'

export interface FormulaProps {
  readonly tex: string
  readonly display: boolean
}

/**
 * Formula renders a formula. KaTeX creates its elements itself and sets their styles one by one. From HTML, as with
 * rehype-katex, the styles would violate a content security policy without inline styles. An invalid formula is shown
 * as typed.
 */
function Formula({ tex, display }: FormulaProps) {
  const place = useRef<HTMLElement>(null)
  const [wrong, setWrong] = useState<string | null>(null)

  useLayoutEffect(() => {
    if (place.current === null) return
    try {
      katex.render(tex, place.current, { ...formulaLimits, displayMode: display })
      makeReachable(place.current.querySelector<HTMLElement>('.katex-display'))
      setWrong(null)
    } catch (error) {
      place.current.replaceChildren()
      setWrong(error instanceof Error ? error.message : '')
    }
  }, [tex, display])

  return (
    <>
      <span ref={place} />
      {wrong !== null && <code title={wrong}>{tex}</code>}
    </>
  )
}

/** makeReachable makes a displayed formula focusable, because its box scrolls if it is too wide. */
function makeReachable(box: HTMLElement | null): void {
  if (box === null) return
  box.tabIndex = 0
  box.role = 'group'
  box.ariaLabel = texts.formula
}

/** The renderer's extensions for formulas. */
export const math = { remark: remarkMath, Formula }
