/** The languages of fences: the display name, the file name extension, and the names that models write. */
const languages: ReadonlyArray<readonly [name: string, extension: string, written: string]> = [
  ['Bash', 'sh', 'bash'],
  ['Shell', 'sh', 'sh shell zsh console'],
  ['C', 'c', 'c'],
  ['C++', 'cpp', 'cpp c++'],
  ['C#', 'cs', 'cs csharp c#'],
  ['CSS', 'css', 'css'],
  ['CSV', 'csv', 'csv'],
  ['差分', 'diff', 'diff 差分'],
  ['Excel', 'txt', 'excel'],
  ['Go', 'go', 'go'],
  ['HTML', 'html', 'html'],
  ['INI', 'ini', 'ini'],
  ['INI', 'toml', 'toml'],
  ['Java', 'java', 'java'],
  ['JavaScript', 'js', 'js javascript'],
  ['JavaScript', 'jsx', 'jsx'],
  ['JSON', 'json', 'json'],
  ['Markdown', 'md', 'md markdown'],
  ['Mermaid', 'mmd', 'mermaid'],
  ['PHP', 'php', 'php'],
  ['PowerShell', 'ps1', 'ps1 powershell'],
  ['Python', 'py', 'py python'],
  ['Ruby', 'rb', 'rb ruby'],
  ['Rust', 'rs', 'rs rust'],
  ['SQL', 'sql', 'sql'],
  ['TypeScript', 'ts', 'ts typescript'],
  ['TypeScript', 'tsx', 'tsx'],
  ['テキスト', 'txt', 'text txt plaintext'],
  ['VB', 'vb', 'vb'],
  ['VBA', 'bas', 'vba'],
  ['VB.NET', 'vb', 'vbnet vb.net'],
  ['XML', 'xml', 'xml'],
  ['YAML', 'yaml', 'yaml yml'],
]

const byWritten = new Map(
  languages.flatMap((language) => language[2].split(' ').map((written) => [written, language] as const)),
)

/** languageName returns the display name of a fence's language; '' if it has none. */
export function languageName(language: string): string {
  return byWritten.get(language.toLowerCase())?.[0] ?? language
}

/** The file name extension for a language. */
export function fileExtension(language: string): string {
  return byWritten.get(language.toLowerCase())?.[1] ?? 'txt'
}
