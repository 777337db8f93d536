/** FoundFiles are the files in what a user has dropped or chosen. */
export interface FoundFiles {
  readonly files: readonly File[]
  /** The names of files and folders that could not be read. */
  readonly unreadable: readonly string[]
}

/** Files that programs create without the user's knowledge: hidden ones, and those of Office, macOS and Windows. */
const hidden = /^(\.|~\$|__MACOSX$|Thumbs\.db$|desktop\.ini$)/i

/** isHidden reports whether the name of a file, or of one of its folders, is that of a hidden file. */
export function isHidden(path: string): boolean {
  return path.split(/[\\/]/).some((part) => hidden.test(part))
}

/** droppedFiles returns the dropped files and those in dropped folders. Call it in the event, which has them only then. */
export function droppedFiles({ items }: Pick<DataTransfer, 'items'>): Promise<FoundFiles> {
  const dropped = [...items].filter(({ kind }) => kind === 'file')
  const found = dropped.map((item) => item.webkitGetAsEntry() ?? item.getAsFile())
  return collect(found.filter((one) => one !== null))
}

/** chosenFiles returns the files of a chosen folder. */
export function chosenFiles(files: Iterable<File>): FoundFiles {
  const shown = [...files].filter(({ webkitRelativePath: path, name }) => !isHidden(path || name))
  return { files: shown, unreadable: [] }
}

async function collect(entries: readonly (FileSystemEntry | File)[]): Promise<FoundFiles> {
  const files: File[] = []
  const unreadable: string[] = []
  // A folder's entries are read one folder after another: thousands of open folders would take much memory.
  const visit = async (entry: FileSystemEntry | File): Promise<void> => {
    if (isHidden(entry.name)) return
    try {
      if (entry instanceof File) files.push(entry)
      else if (entry.isDirectory) for (const child of await childrenOf(entry)) await visit(child)
      else files.push(await fileOf(entry))
    } catch {
      unreadable.push(entry.name)
    }
  }
  for (const entry of entries) await visit(entry)
  return { files, unreadable }
}

/** childrenOf returns the entries of a folder. A browser returns at most 100 at a time, until none is left. */
async function childrenOf(folder: FileSystemEntry): Promise<FileSystemEntry[]> {
  const reader = (folder as FileSystemDirectoryEntry).createReader()
  const all: FileSystemEntry[] = []
  for (;;) {
    const some = await new Promise<FileSystemEntry[]>((resolve, reject) =>
      reader.readEntries(resolve, reject),
    )
    if (some.length === 0) return all
    all.push(...some)
  }
}

function fileOf(entry: FileSystemEntry): Promise<File> {
  return new Promise((resolve, reject) => (entry as FileSystemFileEntry).file(resolve, reject))
}
