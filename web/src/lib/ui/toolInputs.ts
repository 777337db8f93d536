/** toolInputs returns the names and values of a call's arguments; one pair with the name '' if they are not an object. */
export function toolInputs(json: string): [name: string, value: string][] {
  try {
    const value: unknown = JSON.parse(json)
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
