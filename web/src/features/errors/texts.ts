/** The texts of the error pages. */
export const texts = {
  notFound: {
    title: 'ページが見つかりません',
    body: 'アドレスが変わったか、削除された可能性があります。',
  },
  forbidden: {
    title: 'このページを表示する権限がありません',
    body: '必要な場合は、組織の管理者に権限の付与を依頼してください。',
  },
  failed: {
    title: '問題が発生しました',
    body: '時間をおいて、もう一度お試しください。解決しない場合は、次の番号を添えて、管理者にお知らせください。',
    bodyWithoutId: '時間をおいて、もう一度お試しください。解決しない場合は、管理者にお知らせください。',
    requestId: 'お問い合わせ番号',
  },
  offline: {
    title: 'サーバーに接続できません',
    body: '通信環境を確認してください。接続が戻ると、自動で読み込み直します。',
  },
  top: 'Tsumugi トップページ',
  home: 'スキル一覧に戻る',
  reload: '再読み込み',
  copy: '番号をコピー',
} as const
