export { EditorPage } from './EditorPage'
export { LibraryPage } from './LibraryPage'
