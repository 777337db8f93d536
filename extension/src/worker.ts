import { type Intent, storeIntent } from './lib/intent'
import { deleteConversationsOfTab } from './lib/storedConversations'
import { t } from './lib/texts'

/**
 * open opens the panel with an intent. The worker has no state, because the browser stops it after half a minute.
 * `sidePanel.open` must be called before the first await, because the user gesture expires then.
 */
function open(kind: Intent['kind'], tab: chrome.tabs.Tab | undefined, selection?: string): void {
  if (tab?.id === undefined || tab.id < 0) return
  const { id: tabId, windowId } = tab
  void chrome.sidePanel.open({ windowId }).catch(() => {})
  void storeIntent({ kind, tabId, windowId, at: Date.now(), ...(selection !== undefined && { selection }) })
}

chrome.action.onClicked.addListener((tab) => open('open', tab))
chrome.commands.onCommand.addListener((command, tab) => {
  if (command === 'summarize') open('summarize', tab)
})
chrome.contextMenus.onClicked.addListener((info, tab) => {
  if (info.menuItemId === 'explain') open('explain', tab, info.selectionText ?? '')
  else open('summarize', tab)
})

chrome.runtime.onInstalled.addListener(({ reason }) => {
  chrome.contextMenus.removeAll(() => {
    chrome.contextMenus.create({ id: 'summarize', title: t('summarize'), contexts: ['page'] })
    chrome.contextMenus.create({ id: 'explain', title: t('explainSelection'), contexts: ['selection'] })
  })
  if (reason === 'install') void chrome.runtime.openOptionsPage()
})

chrome.tabs.onRemoved.addListener((tabId) => void deleteConversationsOfTab(tabId))

// Scripts in web pages must not read the extension's storage.
void chrome.storage.local.setAccessLevel({ accessLevel: 'TRUSTED_CONTEXTS' })
void chrome.storage.session.setAccessLevel({ accessLevel: 'TRUSTED_CONTEXTS' })
