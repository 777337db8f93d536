/** Where the settings say what is sent. */
export const PRIVACY = '#privacy'

/** Opens the settings there. */
export function openPrivacy(): void {
  void chrome.tabs.create({ url: chrome.runtime.getURL(`options.html${PRIVACY}`) })
}
