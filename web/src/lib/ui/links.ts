/** TextPart is a part of a plain text: words, or a URL. */
interface TextPart {
  readonly text: string
  readonly link: boolean
}

// ASCII only, because in Japanese the sentence continues right after a URL, without a space.
const address = /https?:\/\/[\x21\x23-\x3b\x3d\x3f-\x7e]+/g

/** linkParts splits a plain text at its URLs. */
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

// trimmed removes punctuation that ends the sentence, or closes a parenthesis opened before the URL.
function trimmed(found: string): string {
  const end = found.replace(/[.,;:!?'*]+$/, '')
  return end.endsWith(')') && !end.includes('(') ? trimmed(end.slice(0, -1)) : end
}
