/** Formulas are untrusted: no links, pictures or HTML, and bounded sizes and expansions. */
export const formulaLimits = {
  trust: false,
  strict: 'ignore',
  maxExpand: 500,
  maxSize: 20,
  throwOnError: true,
} as const
