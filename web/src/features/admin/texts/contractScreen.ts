import { contractStatuses } from './names'

/** The contract and its usage. */
export const contractScreen = {
  contract: {
    title: '契約',
    statuses: contractStatuses,
    plan: 'プラン',
    status: '状態',
    organization: '組織名',
    period: '契約期間',
    range: (from: string, to: string) => `${from}〜${to}`,
    open: (from: string) => `${from}から（期限なし）`,
    seats: 'シート',
    seatsUnit: 'シート',
    seatsLeft: (count: string) => `残り${count}シート`,
    seatsFull: '空きシートはありません',
    seatsHint: '利用中と招待中のメンバーは、1名につき1シートを使用します。',
    toMembers: 'メンバーを管理',
    tokens: '今月のトークン',
    tokensUnit: 'トークン',
    tokensLeft: (count: string) => `残り${count}トークン`,
    tokensOver: '上限に達しています',
    tokensHint: (date: string) => `${date}にリセットされます。`,
    warnings: {
      suspended:
        'ご契約が停止中のため、メンバーは新しいメッセージを送信できません。ご契約窓口にお問い合わせください。',
      ended:
        'ご契約が終了しているため、メンバーは新しいメッセージを送信できません。ご契約窓口にお問い合わせください。',
      ending: (date: string) => `ご契約は${date}までです。継続される場合は、ご契約窓口にご連絡ください。`,
      tokens100: (date: string) =>
        `今月のトークンが上限に達しました。${date}にリセットされるまで、メンバーは新しいメッセージを送信できません。`,
      tokens80: (percent: string) =>
        `今月のトークンの${percent}を使用しています。上限に達すると、新しいメッセージを送信できなくなります。`,
      seats: '空きシートがないため、新しいメンバーを招待できません。',
    },
    usage: {
      title: '日別の利用状況',
      lead: '過去30日間の利用です。日付は日本時間で区切られています。',
      measure: '表示する項目',
      tokens: 'トークン',
      messages: '回答数',
      input: '入力',
      output: '出力',
      chart: (measure: string) => `日別の${measure}。左右の矢印キーで日付を選べます。`,
      day: (date: string, messages: string, input: string, output: string) =>
        `${date}、入力${input}トークン、出力${output}トークン、回答${messages}件`,
      none: 'この30日間の利用はありません。',
      table: '日別の利用状況の表',
      date: '日付',
      total: '合計',
    },
    csv: {
      title: '利用状況の保存',
      lead: '日とメンバー、または日とモデルごとの回答数とトークン数を、表計算ソフトで開けるCSVファイルに保存します。期間は366日までです。',
      from: '開始日',
      to: '終了日',
      by: '内訳',
      byMember: 'メンバー別',
      byModel: 'モデル別',
    },
    byModel: {
      title: 'モデル別の利用状況',
      lead: 'トークンの多い順に表示します。チャットの名前など、回答以外に使った分も、使ったモデルに数えます。',
      model: 'モデル',
      unknown: '不明なモデル',
      period: '期間',
      recent: '過去30日間',
      month: (year: string, month: string) => `${year}年${month}月`,
      none: 'この期間の利用はありません。',
    },
    byMember: {
      title: 'メンバー別の利用状況',
      lead: '過去30日間の利用を、トークンの多い順に表示します。',
      member: 'メンバー',
      removed: '削除されたメンバー',
      share: '割合',
      none: 'この30日間に利用したメンバーはいません。',
    },
  },
} as const
