package offline

// unanswered says plainly that there is no model, what works without one and how to connect one.
func unanswered(task string) string {
	return opening(task) + `

**モデルがなくても使えるもの**

- **要約**: 長い文章を貼り付けると、重要な文を抜き出してまとめます。
- **文書に質問**: 貼り付けた文書から、質問に関係の深い箇所を引用してお答えします。
- **議事録作成**: メモから、決定事項や期限とみられる文を抜き出して分けます。
- **文章校正**: 二重敬語、ら抜き言葉、よくある誤字などを、決まった規則で確かめます。

**モデルを接続するには**

サーバーの管理者に、次の環境変数を設定して再起動するようご依頼ください。OpenAI と互換性のあるサービスであれば接続できます。

| 環境変数 | 内容 |
|---|---|
| ` + "`OPENAI_API_KEY`" + ` | API キー |
| ` + "`OPENAI_BASE_URL`" + ` | 接続先の URL（OpenAI 以外を使う場合） |
| ` + "`OPENAI_MODEL`" + ` | 使用するモデルの名前 |
`
}

// opening says what can't be done, in the words of the task.
func opening(task string) string {
	switch task {
	case "translation":
		return "翻訳には言語モデルが必要です。現在は接続されていないため、訳文を作成できません。"
	case "web_search":
		return "検索結果をまとめるには言語モデルが必要です。現在は接続されていないため、お調べできません。"
	case "mail":
		return "メール文面の作成には言語モデルが必要です。現在は接続されていないため、作成できません。"
	case "ideas":
		return "アイデアを出すには言語モデルが必要です。現在は接続されていないため、作成できません。"
	case "rephrase":
		return "文章の言い換えには言語モデルが必要です。現在は接続されていないため、作成できません。"
	case "proposal", "report", "job_posting":
		return "文章の作成には言語モデルが必要です。現在は接続されていないため、作成できません。"
	case "proofreading":
		return "校正する文章が見当たりませんでした。文章を入力して、もう一度お送りください。"
	default:
		return "現在、この環境には言語モデルが接続されていないため、このご質問にはお答えできません。"
	}
}
