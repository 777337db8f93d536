/** Saves a text or a picture as a file. */
export function download(name: string, body: string | Blob, type: string): void {
  const charset = typeof body === 'string' ? ';charset=utf-8' : ''
  const url = URL.createObjectURL(new Blob([body], { type: type + charset }))
  const link = document.createElement('a')
  link.href = url
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(url), 10_000)
}
