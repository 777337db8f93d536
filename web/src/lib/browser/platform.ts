/** Whether this is a device of Apple, whose keys have other names and other uses. */
export const isApple = /Mac|iPhone|iPad/.test(navigator.platform)

/** The keys of a shortcut as this device names them. */
export function keys(...parts: Array<'mod' | 'shift' | (string & {})>): string {
  const name = (part: string) => {
    if (part === 'mod') return isApple ? '⌘' : 'Ctrl'
    if (part === 'shift') return isApple ? '⇧' : 'Shift'
    return part
  }
  return parts.map(name).join(isApple ? '' : ' + ')
}
