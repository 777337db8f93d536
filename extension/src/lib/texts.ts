import type messages from '../../public/_locales/ja/messages.json'

/** TextName is the name of a text. public/_locales has it in each language. */
export type TextName = keyof typeof messages

/** t returns a text in the browser's language. */
export function t(name: TextName, ...values: readonly (string | number)[]): string {
  return chrome.i18n.getMessage(name, values.map(String))
}

/** count formats a number in the browser's language. */
export function count(value: number): string {
  return value.toLocaleString(chrome.i18n.getUILanguage())
}

/** timeOf formats a time of the server in the browser's language. */
export function timeOf(iso: string): string {
  const time = new Date(iso)
  if (Number.isNaN(time.getTime())) return ''
  return time.toLocaleString(chrome.i18n.getUILanguage(), { dateStyle: 'long', timeStyle: 'short' })
}

/** speakLanguage sets the language of the page, for screen readers and line breaks. */
export function speakLanguage(): void {
  document.documentElement.lang = t('lang')
}
