/** The largest metadata that the API takes. */
export const MAX_METADATA = 256 * 1024

/** What can be seen of pasted metadata before the server reads it. */
export type Glance = { kind: 'empty' | 'not-xml' | 'not-metadata' } | { kind: 'found'; entityId: string }

/** A first look at pasted metadata, so that a wrong file is noticed at once. The server decides. */
export function glanceAt(xml: string): Glance {
  if (xml.trim() === '') return { kind: 'empty' }
  const document = new DOMParser().parseFromString(xml, 'application/xml')
  if (document.getElementsByTagName('parsererror').length > 0) return { kind: 'not-xml' }
  const entity = elements(document, 'EntityDescriptor').find(
    (item) => elements(item, 'IDPSSODescriptor').length > 0,
  )
  const entityId = entity?.getAttribute('entityID')
  return entityId ? { kind: 'found', entityId } : { kind: 'not-metadata' }
}

// By their names alone: whatever prefix they have.
function elements(within: Document | Element, name: string): Element[] {
  return [...within.getElementsByTagName('*')].filter((item) => item.tagName.split(':').at(-1) === name)
}
