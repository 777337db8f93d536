import type { Scope } from '@/lib/api'

/** The name and the description of each scope. */
export const scopeTexts: Record<Scope, { name: string; allows: string }> = {
  chat: { name: 'チャット', allows: 'チャットを閲覧し、質問して回答を受け取る' },
  documents: { name: 'ファイル', allows: 'ファイルを閲覧、追加、削除する' },
  extension: {
    name: 'ページの要約と説明',
    allows: '送信したページの要約や説明、ページとプロジェクトのファイルについての回答を受け取る',
  },
}

/** scopeNames joins the names of scopes. */
export function scopeNames(scopes: readonly Scope[]): string {
  return scopes.map((scope) => scopeTexts[scope].name).join('、')
}
