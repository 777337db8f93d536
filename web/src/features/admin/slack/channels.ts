import { texts } from '../texts'

const words = texts.slack.policy
const MAX_CHANNELS = 200

/** The channel ids in a text: one on a line, or with commas between; full-width letters as they are meant. */
export function channelsOf(text: string): string[] {
  const ids = text
    .normalize('NFKC')
    .toUpperCase()
    .split(/[\s,、]+/)
  return [...new Set(ids.filter((id) => id !== ''))]
}

/** What is wrong with a text of channel ids, for a person. */
export function wrongChannel(text: string): string | undefined {
  const ids = channelsOf(text)
  const wrong = ids.find((id) => !/^[CG][A-Z0-9]{2,20}$/.test(id))
  if (wrong !== undefined) return words.wrongChannel(wrong)
  return ids.length > MAX_CHANNELS ? words.tooMany : undefined
}
