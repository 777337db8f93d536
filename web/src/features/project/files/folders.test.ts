import { expect, it } from 'vitest'
import { chosenFiles, droppedFiles } from './folders'

const file = (name: string) =>
  ({
    name,
    isDirectory: false,
    file: (resolve: (file: File) => void, reject: (cause: unknown) => void) =>
      name.includes('壊れた') ? reject(new Error('unreadable')) : resolve(new File([name], name)),
  }) as unknown as FileSystemEntry

/** A folder whose entries come 100 at a time, as from a browser. */
const folder = (name: string, children: readonly FileSystemEntry[]) =>
  ({
    name,
    isDirectory: true,
    createReader: () => {
      let at = 0
      return {
        readEntries: (resolve: (entries: FileSystemEntry[]) => void) => {
          resolve(children.slice(at, at + 100))
          at += 100
        },
      }
    },
  }) as unknown as FileSystemEntry

function dropped(...entries: unknown[]) {
  const items = entries.map((entry) => ({ kind: 'file', webkitGetAsEntry: () => entry }))
  const text = { kind: 'string', webkitGetAsEntry: () => null }
  return droppedFiles({ items: [...items, text] as unknown as DataTransferItemList })
}

it('finds all files in dropped folders and beside them, in order', async () => {
  const many = Array.from({ length: 250 }, (_, at) => file(`議事録${at}.md`))
  const found = await dropped(file('規程.pdf'), folder('会議', [folder('2026', many), file('一覧.xlsx')]))
  const names = found.files.map(({ name }) => name)
  expect(names).toEqual(['規程.pdf', ...many.map(({ name }) => name), '一覧.xlsx'])
  expect(found.unreadable).toEqual([])
})

it('leaves out files that the user does not see, and names those that cannot be read', async () => {
  const found = await dropped(
    folder('資料', [file('.DS_Store'), file('~$提案.docx'), file('壊れた.pdf'), file('提案.docx')]),
    folder('.git', [file('config')]),
  )
  expect(found.files.map(({ name }) => name)).toEqual(['提案.docx'])
  expect(found.unreadable).toEqual(['壊れた.pdf'])
})

it('accepts files of a browser that has no entries', async () => {
  const items = [{ kind: 'file', webkitGetAsEntry: () => null, getAsFile: () => new File(['a'], 'a.txt') }]
  const found = await droppedFiles({ items: items as unknown as DataTransferItemList })
  expect(found.files.map(({ name }) => name)).toEqual(['a.txt'])
})

it('leaves out hidden files of a chosen folder', () => {
  const chosen = ['資料/a.txt', '資料/.git/config', '資料/Thumbs.db'].map((path) => {
    const one = new File(['x'], path.split('/').at(-1) ?? '')
    Object.defineProperty(one, 'webkitRelativePath', { value: path })
    return one
  })
  expect(chosenFiles(chosen).files.map(({ name }) => name)).toEqual(['a.txt'])
})
