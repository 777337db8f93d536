import { slack } from '../texts'

const words = slack.policy
const MAX_CHANNELS = 200

/** channelsOf returns the channel ids in a text, separated by line breaks or commas. It accepts full-width letters. */
export function channelsOf(text: string): string[] {
  const ids = text
    .normalize('NFKC')
    .toUpperCase()
    .split(/[\s,、]+/)
  return [...new Set(ids.filter((id) => id !== ''))]
}

/** wrongChannel returns an error message for a text of channel ids; undefined if valid. */
export function wrongChannel(text: string): string | undefined {
  const ids = channelsOf(text)
  const wrong = ids.find((id) => !/^[CG][A-Z0-9]{2,20}$/.test(id))
  if (wrong !== undefined) return words.wrongChannel(wrong)
  return ids.length > MAX_CHANNELS ? words.tooMany : undefined
}
