/** A part of a plain text: words, or an address that can be opened. */
export interface TextPart {
  readonly text: string
  readonly link: boolean
}

// ASCII only: in Japanese, the sentence goes on right after an address, without a space.
const address = /https?:\/\/[\x21\x23-\x3b\x3d\x3f-\x7e]+/g

/** Splits a plain text at the addresses in it. */
export function linkParts(text: string): TextPart[] {
  const parts: TextPart[] = []
  let done = 0
  for (const match of text.matchAll(address)) {
    const found = trimmed(match[0])
    if (!URL.canParse(found)) continue
    if (match.index > done) parts.push({ text: text.slice(done, match.index), link: false })
    parts.push({ text: found, link: true })
    done = match.index + found.length
  }
  if (done < text.length) parts.push({ text: text.slice(done), link: false })
  return parts
}

// What ends the sentence, or closes a parenthesis that was opened before the address, is no part of it.
function trimmed(found: string): string {
  const end = found.replace(/[.,;:!?'*]+$/, '')
  return end.endsWith(')') && !end.includes('(') ? trimmed(end.slice(0, -1)) : end
}
