/** safeUrl accepts only web and mail URLs. Other URLs of a model, including relative ones, are not trusted. */
export function safeUrl(url: string): string {
  return /^(?:https?:\/\/|mailto:)[^\s]/i.test(url) ? url : ''
}
