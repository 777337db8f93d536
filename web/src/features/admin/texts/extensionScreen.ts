/** The browser extension, and its installation on the organization's computers. */
export const extension = {
  title: 'ブラウザー拡張機能',
  lead: '開いているWebページの要約や質問を、ChromeとEdgeのサイドパネルで行える拡張機能です。このサーバーが署名して配布し、新しい版への更新も自動で行われます。',
  none: 'このサーバーには拡張機能が含まれていません。',
  facts: {
    title: '配布中の拡張機能',
    id: '拡張機能ID',
    version: 'バージョン',
    update: '更新URL',
    server: '接続先のサーバー',
  },
  policy: {
    title: '組織のパソコンにまとめてインストールする',
    lead: 'ブラウザーの管理ポリシーに次の値を設定すると、メンバーの操作なしでインストールされます。接続先のサーバーも設定済みになります。',
    joined:
      'WindowsとmacOSでは、ドメインやMDM、Chrome Enterprise Coreで管理されているパソコンにだけ適用されます（ウェブストア以外から配布する拡張機能に対する、ブラウザー側の制限です）。',
    google: {
      title: 'Google 管理コンソール',
      body: '「デバイス」＞「Chrome」＞「アプリと拡張機能」で、「Chromeアプリや拡張機能をIDで追加」＞「カスタムURLから」を選び、拡張機能IDと更新URLを入力して、「強制インストール」を選びます。',
    },
    windows: {
      title: 'Chrome（Windowsのグループポリシー、Intune）',
      body: '「強制的にインストールされるアプリと拡張機能のリスト」（ExtensionInstallForcelist）に、次の値を追加します。',
      label: 'ExtensionInstallForcelistの値',
    },
    edge: {
      title: 'Edge（Windowsのレジストリ）',
      body: '次の内容を拡張子 .reg のファイルに保存し、管理者として実行します。グループポリシーやIntuneでは、「サイレント インストールされる拡張機能を制御する」（ExtensionInstallForcelist）に、Chromeと同じ値を追加します。ほかの拡張機能を登録済みのときは、値の名前の「1」を空いている番号に変えます。',
      label: 'Edgeのレジストリファイル',
    },
    edgeAll: {
      title: 'Edge（ExtensionSettingsを使っている場合）',
      body: '「拡張機能の管理設定を構成する」（ExtensionSettings）のJSONに、次の項目を加えます。この場合、ExtensionInstallForcelistの設定は不要です。',
      label: 'EdgeのExtensionSettingsの値',
    },
    mac: {
      title: 'macOS（構成プロファイル）',
      body: 'Chromeの構成プロファイル（com.google.Chrome）に、次の設定を追加します。',
      label: '構成プロファイルの設定',
    },
    linux: {
      title: 'Linux',
      body:
        '次の内容を /etc/opt/chrome/policies/managed/tsumugi.json に保存します' +
        '（Chromiumの場合は /etc/chromium/policies/managed/）。',
      label: 'ポリシーファイルの内容',
    },
  },
  manual: {
    title: '1台ずつ手作業でインストールする',
    lead: '試用や、管理ポリシーを使っていないパソコン向けの手順です。この方法では自動更新されません。',
    download: 'ZIPファイルをダウンロード',
    steps: [
      { text: 'ZIPファイルをダウンロードし、消さない場所に展開します。' },
      {
        text: 'Chromeで chrome://extensions（Edgeでは edge://extensions）を開き、「デベロッパー モード」をオンにします。',
      },
      {
        text: '「パッケージ化されていない拡張機能を読み込む」を選び、展開したフォルダーを指定します。一覧に「Tsumugi（紡）」が表示されます。',
        picture: {
          src: '/guide/extension-load.png',
          alt: 'Chromeの拡張機能の画面。右上の「デベロッパー モード」がオンで、その下に「パッケージ化されていない拡張機能を読み込む」ボタンがあり、一覧に Tsumugi がある',
          width: 1000,
          height: 440,
        },
      },
      {
        text: 'ツールバーの拡張機能アイコン（パズルの形）を押し、「Tsumugi」の横のピンを押して固定します。',
      },
      {
        text: 'ツールバーの「Tsumugi」を押し、開いたパネルの「ログイン」から利用を許可します。',
        picture: {
          src: '/guide/extension-sign-in.png',
          alt: 'サイドパネル。「ログインしてください」の下に「ログイン」ボタンと「コードでログイン」がある',
          width: 400,
          height: 300,
        },
      },
    ],
  },
  privacy: {
    title: '送信される内容',
    lead: '拡張機能がページの内容を送るのは、要約・説明・質問の操作をしたときだけです。送信先はこのサーバーだけで、送信前に内容を確認できます。閲覧履歴や、操作していないページの内容は送信されません。',
  },
} as const
