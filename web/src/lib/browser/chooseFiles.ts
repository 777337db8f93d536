/** chooseFiles opens the browser's file picker. Phones open the camera instead if `capture` names one. */
export function chooseFiles(
  options: Partial<Pick<HTMLInputElement, 'accept' | 'multiple' | 'capture'>>,
  onFiles: (files: readonly File[]) => void,
): void {
  const chooser = Object.assign(document.createElement('input'), { ...options, type: 'file' })
  chooser.onchange = () => onFiles([...(chooser.files ?? [])])
  chooser.click()
}
