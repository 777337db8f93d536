package offline

// unanswered returns the answer without a model: it lists the tasks that work without one. The app shows administrators
// how to connect a model; other readers can only ask an administrator.
func unanswered(task string) string {
	if task == "proofreading" {
		return "AIモデルが未設定のため、校正の結果についてのご質問や修正のご依頼にはお答えできません。" +
			"修正した文章を校正するには、新しいチャットでお試しください。"
	}
	return `AIモデルが未設定のため、お答えできません。管理者にお知らせください。

**AIモデルがなくても使えるスキル**

- **要約**: 貼り付けた文章から、重要な文を抜き出してまとめます。
- **文書に質問**: 貼り付けた文書から、質問に関係の深い箇所を引用してお答えします。
- **議事録作成**: メモから、決定事項や期限とみられる文を抜き出します。
- **文章校正**: 二重敬語、ら抜き言葉、よくある誤字などを、決まった規則で確かめます。
`
}
