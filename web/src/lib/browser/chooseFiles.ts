/** chooseFiles opens the browser's file picker. Phones open the camera instead if `capture` names one. */
export function chooseFiles(
  options: Partial<Pick<HTMLInputElement, 'accept' | 'multiple' | 'capture'>>,
  onFiles: (files: readonly File[]) => void,
): void {
  const chooser = Object.assign(document.createElement('input'), { ...options, type: 'file', hidden: true })
  chooser.onchange = () => {
    chooser.remove()
    onFiles([...(chooser.files ?? [])])
  }
  chooser.oncancel = () => chooser.remove()
  // Safari on iOS reports the files only to an element of the document.
  document.body.append(chooser)
  chooser.click()
}
