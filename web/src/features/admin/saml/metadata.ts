/** The maximum size of metadata in the API. */
export const MAX_METADATA = 256 * 1024

/** A preview of pasted metadata before the server reads it. */
type MetadataSummary = { kind: 'empty' | 'not-xml' | 'not-metadata' } | { kind: 'found'; entityId: string }

/**
 * summarizeMetadata returns a preview of pasted metadata, so that a wrong file is noticed at once. The server validates
 * it. It uses no DOMParser, which for invalid XML creates a page with styles that the content security policy reports.
 */
export function summarizeMetadata(xml: string): MetadataSummary {
  const text = xml.replace(/^\ufeff/, '').trim()
  if (text === '') return { kind: 'empty' }
  if (!text.startsWith('<')) return { kind: 'not-xml' }
  const provider = text.search(/<(?:[\w.-]+:)?IDPSSODescriptor[\s/>]/)
  if (provider < 0) return { kind: 'not-metadata' }
  const entities = text
    .slice(0, provider)
    .matchAll(/<(?:[\w.-]+:)?EntityDescriptor\s[^>]*?\bentityID\s*=\s*(?:"([^"]+)"|'([^']+)')/g)
  const entity = [...entities].at(-1)
  const entityId = entity?.[1] ?? entity?.[2]
  if (entityId === undefined) return { kind: 'not-metadata' }
  return { kind: 'found', entityId: entityId.replaceAll('&amp;', '&') }
}
