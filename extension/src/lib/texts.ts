import type messages from '../../public/_locales/ja/messages.json'

/** The name of a text; public/_locales has it in each language. */
export type TextName = keyof typeof messages

/** A text in the language of the browser. */
export function t(name: TextName, ...values: readonly (string | number)[]): string {
  return chrome.i18n.getMessage(name, values.map(String))
}

/** A number as the browser's language writes it. */
export function count(value: number): string {
  return value.toLocaleString(chrome.i18n.getUILanguage())
}

/** Sets the language of the page, for screen readers and line breaks. */
export function speakLanguage(): void {
  document.documentElement.lang = t('lang')
}
