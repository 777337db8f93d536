/**
 * loadFormulaStyles loads the style sheet for formulas, which makes the browser lay out the whole page again. During an
 * answer, when the first formula needs it, this is a long task, so it is loaded before.
 */
export async function loadFormulaStyles(): Promise<void> {
  await import('katex/dist/katex.min.css')
}
