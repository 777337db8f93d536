/** Whether this is an Apple device, whose keys have other names and functions. */
export const isApple = /Mac|iPhone|iPad/.test(navigator.platform)

/** keys returns the keys of a shortcut, as named on this device. */
export function keys(...parts: Array<'mod' | 'shift' | (string & {})>): string {
  const name = (part: string) => {
    if (part === 'mod') return isApple ? '⌘' : 'Ctrl'
    if (part === 'shift') return isApple ? '⇧' : 'Shift'
    return part
  }
  return parts.map(name).join(isApple ? '' : ' + ')
}
