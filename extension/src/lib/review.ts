const KEY = 'unreviewed'

/** unreviewedSites returns the sites whose text is sent without a review. */
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

/** siteOf returns the site of a URL for display. */
export function siteOf(url: string): string {
  return new URL(url).host
}
