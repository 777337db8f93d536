import { linkParts } from '@/lib/ui/links'

/** A plain text whose URLs are links. */
export function LinkedText({ text }: { text: string }) {
  return linkParts(text).map((part, index) =>
    part.link ? (
      // biome-ignore lint/suspicious/noArrayIndexKey: the parts of a text have no ids.
      <a key={index} href={part.text} target="_blank" rel="noreferrer">
        {part.text}
        <span className="visually-hidden">（新しいタブで開きます）</span>
      </a>
    ) : (
      part.text
    ),
  )
}
