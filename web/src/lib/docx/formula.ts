import { Math as OfficeMath } from 'docx'
import { htmlToRuns } from 'docx/html'
import katex from 'katex'
import { formulaLimits } from '@/lib/markdown/formulaLimits'

/** toMath converts KaTeX's form of a formula to Office Math, which Word can edit. An invalid formula is null. */
export function toMath(tex: string, displayMode: boolean): OfficeMath | null {
  try {
    const [math] = htmlToRuns(katex.renderToString(tex, { ...formulaLimits, displayMode, output: 'mathml' }))
    return math instanceof OfficeMath ? math : null
  } catch {
    return null
  }
}
