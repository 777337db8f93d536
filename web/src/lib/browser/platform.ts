const apple = /Mac|iPhone|iPad/.test(navigator.platform)

/** The keys of a shortcut as this device names them. */
export function keys(...parts: Array<'mod' | 'shift' | (string & {})>): string {
  const name = (part: string) => {
    if (part === 'mod') return apple ? '⌘' : 'Ctrl'
    if (part === 'shift') return apple ? '⇧' : 'Shift'
    return part
  }
  return parts.map(name).join(apple ? '' : ' + ')
}
