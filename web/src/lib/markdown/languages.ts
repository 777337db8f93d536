const names: ReadonlyMap<string, string> = new Map([
  ['bash', 'Bash'],
  ['sh', 'Shell'],
  ['shell', 'Shell'],
  ['zsh', 'Shell'],
  ['console', 'Shell'],
  ['c', 'C'],
  ['cpp', 'C++'],
  ['c++', 'C++'],
  ['cs', 'C#'],
  ['csharp', 'C#'],
  ['css', 'CSS'],
  ['csv', 'CSV'],
  ['diff', '差分'],
  ['excel', 'Excel'],
  ['go', 'Go'],
  ['html', 'HTML'],
  ['ini', 'INI'],
  ['toml', 'TOML'],
  ['java', 'Java'],
  ['js', 'JavaScript'],
  ['javascript', 'JavaScript'],
  ['jsx', 'JavaScript'],
  ['json', 'JSON'],
  ['md', 'Markdown'],
  ['markdown', 'Markdown'],
  ['mermaid', 'Mermaid'],
  ['php', 'PHP'],
  ['ps1', 'PowerShell'],
  ['powershell', 'PowerShell'],
  ['py', 'Python'],
  ['python', 'Python'],
  ['rb', 'Ruby'],
  ['ruby', 'Ruby'],
  ['rs', 'Rust'],
  ['rust', 'Rust'],
  ['sql', 'SQL'],
  ['ts', 'TypeScript'],
  ['typescript', 'TypeScript'],
  ['tsx', 'TypeScript'],
  ['text', 'テキスト'],
  ['txt', 'テキスト'],
  ['plaintext', 'テキスト'],
  ['vb', 'VB'],
  ['vba', 'VBA'],
  ['vbnet', 'VB.NET'],
  ['xml', 'XML'],
  ['yaml', 'YAML'],
  ['yml', 'YAML'],
])

/** languageName returns the display name of a fence's language; '' if it has none. */
export function languageName(language: string): string {
  return names.get(language.toLowerCase()) ?? language
}

const extensions: ReadonlyMap<string, string> = new Map([
  ['Shell', 'sh'],
  ['Bash', 'sh'],
  ['C', 'c'],
  ['C++', 'cpp'],
  ['C#', 'cs'],
  ['CSS', 'css'],
  ['CSV', 'csv'],
  ['差分', 'diff'],
  ['Go', 'go'],
  ['HTML', 'html'],
  ['INI', 'ini'],
  ['Java', 'java'],
  ['JavaScript', 'js'],
  ['JSON', 'json'],
  ['Markdown', 'md'],
  ['Mermaid', 'mmd'],
  ['PHP', 'php'],
  ['PowerShell', 'ps1'],
  ['Python', 'py'],
  ['Ruby', 'rb'],
  ['Rust', 'rs'],
  ['SQL', 'sql'],
  ['TypeScript', 'ts'],
  ['VB', 'vb'],
  ['VBA', 'bas'],
  ['VB.NET', 'vb'],
  ['XML', 'xml'],
  ['YAML', 'yaml'],
])

/** Languages that have one display name but different file types. */
const ownExtensions = new Set(['tsx', 'jsx', 'toml'])

/** The file name extension for a language. */
export function fileExtension(language: string): string {
  const lower = language.toLowerCase()
  return ownExtensions.has(lower) ? lower : (extensions.get(languageName(language)) ?? 'txt')
}
