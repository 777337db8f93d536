const KEY = 'unreviewed'

/** The sites whose text is sent without being shown before. */
export async function unreviewedSites(): Promise<readonly string[]> {
  return ((await chrome.storage.local.get(KEY))[KEY] as string[] | undefined) ?? []
}

export async function addUnreviewed(site: string): Promise<void> {
  const sites = await unreviewedSites()
  if (!sites.includes(site)) await chrome.storage.local.set({ [KEY]: [...sites, site] })
}

export async function removeUnreviewed(site: string): Promise<void> {
  const sites = await unreviewedSites()
  await chrome.storage.local.set({ [KEY]: sites.filter((other) => other !== site) })
}

/** The site of an address, as people know it. */
export function siteOf(url: string): string {
  return new URL(url).host
}
