/** toolInputs returns the names and values of a call's arguments; one pair with the name '' if they are not an object. */
export function toolInputs(json: string): [name: string, value: string][] {
  try {
    const value: unknown = JSON.parse(quoteLongNumbers(json))
    if (typeof value === 'object' && value !== null && !Array.isArray(value))
      return Object.entries(value).map(([name, item]) => [
        name,
        typeof item === 'string' ? item : JSON.stringify(item),
      ])
  } catch {
    // The model has written something else, which is shown as it is.
  }
  return [['', json]]
}

/** quoteLongNumbers returns JSON with quotes around the numbers that JavaScript would round. */
export function quoteLongNumbers(json: string): string {
  return json.replace(/"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g, (token) =>
    token.startsWith('"') || isExact(token) ? token : `"${token}"`,
  )
}

function isExact(number: string): boolean {
  const value = Number(number)
  const digits = number
    .replace(/e.*$/i, '')
    .replace(/\D/g, '')
    .replace(/^0+|0+$/g, '')
  return (
    Number.isFinite(value) &&
    (digits === '' || value !== 0) &&
    (digits.length <= 15 || String(value) === number)
  )
}

/** partialToolInputs is toolInputs of arguments whose end is missing: of the pairs so far, the last one may be partial. */
export function partialToolInputs(json: string): [name: string, value: string][] {
  const { whole, ends } = openEnds(json)
  for (const candidate of [json + ends, whole]) {
    const inputs = toolInputs(candidate)
    if (inputs[0]?.[0] !== '') return inputs
  }
  return json.trim().length > 1 ? [['', json]] : []
}

/** openEnds returns the missing closing marks, and the arguments up to the last comma, with closing marks. */
function openEnds(json: string): { whole: string; ends: string } {
  const open: string[] = []
  let quoted = false
  let whole = '{}'
  for (let i = 0; i < json.length; i++) {
    const c = json[i] ?? ''
    if (quoted) {
      if (c === '\\') i++
      else if (c === '"') quoted = false
    } else if (c === '"') quoted = true
    else if (c === '{') open.unshift('}')
    else if (c === '[') open.unshift(']')
    else if (c === '}' || c === ']') open.shift()
    else if (c === ',') whole = json.slice(0, i) + open.join('')
  }
  return { whole, ends: (quoted ? '"' : '') + open.join('') }
}
