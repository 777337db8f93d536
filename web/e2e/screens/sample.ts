/** The conversation in the screenshots: a day at an office. */
export const question = '来月の社内研修の参加費について、部署ごとの負担額を計算する方法を教えてください。'

export const follow = '上限を1人あたり8,000円にすると、どう変わりますか。'

export const answer = `参加人数で割る方法と、**「基本額＋人数割り」**で分ける方法があります。人数の少ない部署に負担が偏らないのは後者です。

## 計算の考え方

基本額を $b$、総額を $T$、部署の数を $n$、部署 $i$ の人数を $m_i$ とすると、負担額 $x_i$ は次の式で求められます。

$$
x_i = b + (T - nb)\\,\\frac{m_i}{\\sum_{k=1}^{n} m_k}
$$

総額120,000円、基本額6,000円の場合の例です。

| 部署 | 人数 | 基本額 | 人数割り | 負担額 |
| --- | ---: | ---: | ---: | ---: |
| 営業部 | 12 | 6,000円 | 51,000円 | 57,000円 |
| 開発部 | 8 | 6,000円 | 34,000円 | 40,000円 |
| 総務部 | 4 | 6,000円 | 17,000円 | 23,000円 |

## 表計算ソフトでの式

人数がB列、総額がE1、基本額がE2にあるときは、次の式を下まで複写します。

\`\`\`excel
=E$2 + (E$1 - COUNTA(B$2:B$4) * E$2) * B2 / SUM(B$2:B$4)
\`\`\`

端数が出る場合は、**最後の部署で差額を調整する**と総額と一致します。

1. 人数が確定した日を決めておく
2. 欠席者が出たときの扱いを、先に知らせておく
3. 精算書に計算式を添える
`

/** The document in the screenshots, one text per page. */
export const rules = [
  '# 就業規則\n第1条（目的） この規則は、株式会社つむぎの従業員の就業に関する事項を定める。\n第2条（適用） この規則は、すべての従業員に適用する。',
  '# 第3章 休暇\n第12条（年次有給休暇） 入社の日から6か月間継続して勤務し、全労働日の8割以上を出勤した従業員には、年次有給休暇を10日付与する。\n' +
    '第13条（繰越） 使わなかった年次有給休暇は、翌年度に限り繰り越すことができる。\n第14条（時間単位） 年次有給休暇は、1年に5日を限度として、1時間を単位として取ることができる。',
]

export const asked = '年次有給休暇は何日付与されますか。使わなかった分はどうなりますか。'

export const cited = `入社から6か月が経ち、全労働日の8割以上を出勤していれば、**10日**付与されます[3]。

| 項目 | 内容 |
| --- | --- |
| 付与 | 10日[3] |
| 繰越 | 翌年度まで[4] |

使わなかった分は、翌年度に限り繰り越せます[4]。1年に7日までは、1時間を単位として取ることもできます[5]。
`

export const shorter = `上限を1人あたり8,000円にしても、この例では**どの部署も上限に届きません**。

- 営業部は1人あたり4,750円です
- 開発部は1人あたり5,000円です
- 総務部は1人あたり5,750円です

上限が効くのは、総額が約165,000円を超えたときです。人数の少ない総務部が先に上限に達し、超えた分は残りの部署で分けることになります。`

/** Threads that fill the list: the skill of each, and its title. */
export const threads: readonly (readonly [skill: string, title: string])[] = [
  ['翻訳', '海外拠点への案内文の英訳'],
  ['議事録作成', '定例会議の議事録'],
  ['アイデア出し', '創立記念行事の企画案'],
  ['文章校正', '採用ページの文章校正'],
  ['汎用チャット', '在宅勤務の申請手順'],
  ['ビジネスメール作成', '納期変更のお願いメール'],
  ['要約', '市場調査報告書の要約'],
]

export const favorites = ['要約', '翻訳', 'ビジネスメール作成', '文章校正', '議事録作成', 'アイデア出し']

/** The members in the pictures: the part of the address before the @, the name, the role. */
export const people: readonly (readonly [email: string, name: string, role: string])[] = [
  ['ito.ken', '伊藤 健', 'general-user'],
  ['kato.megumi', '加藤 恵', 'general-user'],
  ['kobayashi.naoki', '小林 直樹', 'general-user'],
  ['sasaki.sho', '佐々木 翔', 'organization-admin'],
  ['takahashi.saburo', '高橋 三郎', 'general-user'],
  ['tanaka.misaki', '田中 美咲', 'general-user'],
  ['watanabe.yumi', '渡辺 由美', 'organization-admin'],
]

/** The body of the notice being written in the screenshots. */
export const holidays = `12月29日（火）から1月3日（日）まで休業します。
期間中の問い合わせ先は、https://example.com/holidays をご覧ください。`

/** The notices in the pictures: title, body, level, the days after which they begin and end, counted from today. */
export const notices: readonly (readonly [string, string, string, number | null, number | null])[] = [
  ['議事録スキルの使い方講座', '録音の文字起こしから議事録を作る手順を紹介します。', 'info', null, 14],
  ['社内ネットワークの点検', '点検中は、回答の表示が遅くなることがあります。', 'maintenance', 7, 8],
  ['棚卸しの期間の締め切り', '備品台帳の更新をお願いします。', 'warning', 10, null],
]

/** The ratings in the pictures: skill, question, answer, rating, comment, whether the text is sent. */
export const ratings: readonly (readonly [string, string, string, string, string, boolean])[] = [
  ['汎用チャット', '在宅勤務の申請は何日前までですか。', '3営業日前までです。', 'good', '', false],
  [
    '汎用チャット',
    '請求書の締め日を教えてください。',
    '毎月20日です。',
    'bad',
    '先月から月末に変わっています。',
    false,
  ],
  [
    'ビジネスメール作成',
    '納期の延期をお願いするメールを書いてください。',
    '件名: 納期について',
    'good',
    '',
    false,
  ],
  [
    '汎用チャット',
    '出張の日当を表にまとめてください。',
    '日当は次のとおりです。\n\n| 役職 | 国内 | 海外 |\n|---|---|---|\n| 一般 | 2,000円 | 5,000円 |\n| 管理職 | 3,000円 | 7,000円 |',
    'bad',
    '国内の日当が、改定前の金額です。',
    true,
  ],
]

/** A pasted list of people to invite. */
export const invitees = `氏名\tメールアドレス\t役割
中村 彩\tnakamura.aya@demo.example\t一般ユーザー
山本 大輔\tyamamoto.daisuke@demo.example\t管理者
吉田 拓也\tyoshida.takuya@demo\t`

/** The data sources in the screenshots, the newest last: name and content. The one without text cannot be parsed. */
export const files: readonly (readonly [name: string, content: string])[] = [
  ['就業規則.html', `<h1>就業規則</h1>${'<p>第1条 この規則は、社員の労働条件を定める。</p>'.repeat(400)}`],
  ['備品台帳.csv', `品名,数量,置き場所\n${'会議用の椅子,24,第二会議室\n'.repeat(900)}`],
  ['白紙の控え.txt', ' \n'.repeat(20)],
  ['新入社員研修の手順書.md', `# 新入社員研修\n\n${'初日は受付で名札を受け取ります。\n\n'.repeat(300)}`],
  ['拠点別の売上.tsv', `拠点\t売上\n${'札幌\t1,250,000\n'.repeat(500)}`],
  ['定例会議の議事録.md', `# 定例会議\n\n${'次回までに日程の案をまとめます。\n\n'.repeat(120)}`],
]

const article = (title: string, ...lines: readonly string[]) =>
  `<section><h2>${title}</h2>${lines.map((line) => `<p>${line}</p>`).join('')}</section>`

/** The pages of the document in the pictures. */
export const handbook: readonly string[] = [
  `<style>
    body { font: 10.5pt/1.9 "Noto Serif CJK JP", serif }
    h1 { font-size: 17pt; text-align: center; letter-spacing: 0.3em }
    h2 { font: 600 11.5pt "Noto Sans CJK JP", sans-serif; margin: 7mm 0 2mm }
    p { margin: 0 0 2mm; text-indent: 1em }
  </style>
  <h1>旅費規程</h1>
  ${article(
    '第1条（目的）',
    'この規程は、社員が業務のために出張するときの手続きと、旅費の支給について定める。旅費とは、交通費、宿泊費、日当をいう。',
    '出張は、目的、行き先、期間を所属長に申請し、承認を受けてから行う。急を要するときは、出張のあと三日以内に申請する。',
  )}
  ${article(
    '第2条（交通費）',
    '交通費は、最も経済的な経路と方法による実費とする。片道の乗車が100キロメートルを超えるときは、特急列車の指定席を利用できる。',
    '航空機は、鉄道による移動が4時間を超えるときに限り、普通席を利用できる。タクシーは、ほかに方法がないときに限る。',
  )}
  ${article(
    '第3条（宿泊費）',
    '宿泊費は、一泊につき12,000円を上限とする実費とする。ただし、東京都区部と政令指定都市では、14,000円を上限とする。',
    '上限を超えるときは、出張の前に総務部の承認を受ける。知人の家などに宿泊するときは、宿泊費を支給しない。',
  )}
  ${article('第4条（日当）', '日当は、一日につき2,500円とする。半日の出張では、その半額とする。食事が用意される研修では、日当を支給しない。')}`,
  `${article('第5条（精算）', '旅費は、出張から戻って七日以内に、領収書を添えて精算する。領収書のない支出は、理由書を添えて所属長の承認を受ける。')}
  ${article('附則', 'この規程は、令和8年4月1日から施行する。')}`,
]

/** A question to the web, and its answer. */
export const searched = 'つむぎ県の最低賃金の改定額と、いつから変わるかを教えてください。'
export const found = `つむぎ県の地域別最低賃金は、**2026年10月1日から時間額1,142円**に改定されます[1]。引上げ額は58円です[1][2]。

- **対象**: パートタイムで働く人を含む、すべての労働者[1]
- **答申**: 8月5日に審議会が答申し、引上げ額は過去最大でした[2]
`

/** A text to be proofread, and its changes. */
export const draft = `お客様各位

いつもお世話になっております。株式会社つむぎの田中です。
さて、この度は弊社の新サービスについて、ご案内をさせて頂きたくご連絡致しました。まず最初に、サービスの概要をご説明いたします。
当サービスは、2026年10月31日（金）より提供を開始する予定です。ご利用料金は月額3,000円となっており、初月は無料でお試し頂くことが出来ます。
お申込みは、お問合せフォームよりお願いいたします。ご不明な点がございましたら、お気軽にお問い合わせ下さい。
部長の佐藤も「ぜひご利用いただきたい」とおっしゃられていました。何卒宜しくお願いいたします。`

export const draftChanges = [
  [
    'ご案内をさせて頂きたくご連絡',
    'させて頂きたく',
    'いたしたく',
    'honorific',
    '「させていただく」の使いすぎ',
  ],
  ['ご連絡致しました。', '致しました', 'いたしました', 'variation', '補助動詞は仮名書き'],
  ['まず最初に、サービス', 'まず最初に', 'はじめに', 'wordy', '意味の重複'],
  ['31日（金）より', '（金）', '（土）', 'fact', '2026年10月31日は土曜日です'],
  ['お試し頂くことが出来ます。', '頂くことが出来ます', 'いただけます', 'wordy', '回りくどい表現'],
  ['お申込みは、', '申込み', '申し込み', 'variation', '送り仮名のゆれ'],
  ['、お問合せフォーム', 'お問合せ', 'お問い合わせ', 'variation', '後の「お問い合わせ」にそろえる'],
  ['お問い合わせ下さい。', '下さい', 'ください', 'variation', '補助動詞は仮名書き'],
  ['とおっしゃられていました', 'おっしゃられて', '申して', 'honorific', '社内の人には謙譲語を使う'],
].map(([context, before, after, kind, reason]) => ({
  ...{ context, before, after, kind, reason },
  question: kind === 'fact',
}))

export const pictureQuestion = 'この画面の「トークン」の欄は、何を表していますか。'
export const pictureAnswer =
  '「トークン」の欄は、今月に組織全体で使った量と、契約の上限を表しています。\n\n' +
  '- **使った量**: 質問と回答の長さの合計です。\n- **上限**: 超えると、翌月まで新しい質問を送れなくなります。'

/** A skill that a member writes. */
export const ownSkill = {
  name: '訪問報告の下書き',
  description: '訪問のメモから報告書を作ります。',
  prompt:
    'あなたは営業の報告書を書く担当者です。\n訪問のメモを読み、結論、経緯、次の行動の順にまとめてください。',
}

/** The tools of a server. */
export const tools = [
  {
    name: 'find_customer',
    title: '顧客の検索',
    description: '顧客を名前で探します。',
    inputs: ['name'],
  },
  {
    name: 'create_deal',
    title: '商談の登録',
    description: '顧客に商談を登録します。',
    inputs: ['顧客', '件名', '金額', '予定日'],
  },
  { name: 'send_quote', title: '見積書の送付', description: '見積書をメールで送ります。', inputs: ['宛先'] },
]

export const toolQuestion = '山田紡績さまの新しい織機の件を、商談として登録してください。'
export const toolAnswer = '商談を登録しました。次は、十二月十日までに見積書を送りましょう。'

/** The input of a call. */
export const deal = {
  顧客: '山田紡績株式会社',
  件名: '新しい織機3台の導入',
  金額: '12,800,000円',
  予定日: '2026年12月24日',
}

/** The form of the call. */
export const dealForm = {
  mode: 'form',
  message: '商談の登録に足りない項目があります。\n担当者に確認のメールを送ります。',
  requestedSchema: {
    type: 'object',
    required: ['stage', 'mail'],
    properties: {
      stage: { type: 'string', title: '段階', enum: ['提案', '見積', '契約'], default: '見積' },
      mail: { type: 'string', title: '担当者のメールアドレス', format: 'email' },
      share: {
        type: 'array',
        title: '共有先',
        items: { type: 'string', enum: ['営業一課', '営業二課', '経理課'] },
        maxItems: 2,
        default: ['営業一課'],
      },
      remind: { type: 'boolean', title: '予定日の前に知らせる', description: '三日前にメールで知らせます。' },
    },
  },
}
