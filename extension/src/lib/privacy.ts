/** PRIVACY is the fragment of the settings page with the information about the data that is sent. */
export const PRIVACY = '#privacy'

/** openPrivacy opens the settings page at PRIVACY. */
export function openPrivacy(): void {
  void chrome.tabs.create({ url: chrome.runtime.getURL(`options.html${PRIVACY}`) })
}
