package stream_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/tsumugi-ai/tsumugi/stream"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

var update = flag.Bool("update", false, "write the golden files anew")

var goldenHead = stream.Head{
	MessageID: "0190f3c2-0000-7000-8000-000000000001", Run: 1,
	Metadata: json.RawMessage(
		`{"thread_id":"0190f3c2-0000-7000-8000-000000000002","user_message_id":"0190f3c2-0000-7000-8000-000000000003"}`,
	),
}

var goldenCitations = json.RawMessage(`[{"index":1,"chunk_embedding_id":"0190f3c2-0000-7000-8000-000000000004",` +
	`"data_source_id":"0190f3c2-0000-7000-8000-000000000005","filename":"繭と糸.pdf","page":3,"locator":"第1章 > 糸",` +
	`"score":12.5,"quote":"繭から糸を引き出す。","support":"strong"}]`)

// TestGoldenStreams compares the bytes on the wire with golden files. The app's tests read the same files with the AI
// SDK's reader.
func TestGoldenStreams(t *testing.T) {
	t.Parallel()
	const answer = "こんにちは。**「紡ぐ」**とは、繭から糸を引き出すことです。\n\n```go\nfmt.Println(\"糸\")\n```"
	write := func(cursor string, end stream.End) []byte {
		text := stream.NewText(goldenHead)
		w := text.Watch(cursor)
		text.PutStep(stream.Step{Kind: "retrieval", Status: "running", Detail: "資料1件を検索中", Total: 1})
		text.PutStep(stream.Step{Kind: "retrieval", Status: "success", Detail: "3か所を確認", Done: 1, Total: 1})
		text.PutSource(stream.Source{
			SourceID: "0190f3c2-0000-7000-8000-000000000004", MediaType: "application/pdf", Title: "繭と糸",
			Filename: "繭と糸.pdf", Index: 1, Page: 3,
			DataSourceID: "0190f3c2-0000-7000-8000-000000000005", Locator: "第1章 > 糸",
		})
		text.PutTitle("紡ぐの意味", time.Unix(1_795_000_000, 0))
		for _, r := range answer {
			text.AppendText(string(r))
		}
		text.PutCitations(goldenCitations)
		text.Finish(end)
		if cursor != "" {
			w = text.Watch(cursor)
		}
		return drain(w)
	}
	for name, got := range map[string][]byte{
		"finish.sse": write("", done),
		"abort.sse":  write("", stream.End{Outcome: stream.Aborted, Reason: "stopped"}),
		"error.sse": write("", stream.End{
			Outcome: stream.Failed, ErrorText: "モデルの応答が途中で途切れました。もう一度お試しください。",
			Code: "model_interrupted", Retryable: true,
		}),
		"resumed.sse":   write("1-15", done),
		"reset.sse":     write("2-15", done),
		"reasoning.sse": reasoned(),
		"web.sse":       searched(),
		"proofread.sse": proofread(),
	} {
		path := filepath.Join("testdata", name)
		if *update {
			must.Succeed(t, os.WriteFile(path, got, 0o600))
		}
		want := must.Get(os.ReadFile(path))(t)
		if !bytes.Equal(got, want) {
			t.Errorf("%s: got\n%s", name, got)
		}
	}
}

// reasoned returns the stream of a stored answer with its reasoning.
func reasoned() []byte {
	text := stream.NewText(goldenHead)
	text.PutReasoning("「紡ぐ」の意味を\n尋ねている。", 12*time.Second)
	text.AppendText("糸を引き出すことです。")
	text.Finish(done)
	return drain(text.Watch(""))
}

// searched returns an answer from a page of the web.
func searched() []byte {
	text := stream.NewText(goldenHead)
	w := text.Watch("")
	text.PutStep(stream.Step{Kind: "web_search", Status: "running", Detail: "検索中「紡ぐ 意味」"})
	text.PutStep(stream.Step{Kind: "web_search", Status: "success", Detail: "1ページを確認"})
	text.PutSource(stream.Source{
		SourceID: "0190f3c2-0000-5000-8000-000000000006", Title: "繭と糸", Index: 1,
		URL: "https://www.example.jp/thread?a=1&b=2", Site: "example.jp", PublishedOn: "2026-09-01",
	})
	text.AppendText("糸を引き出すことです[1]。")
	text.Finish(done)
	return drain(w)
}

// proofread returns the stream of a proofread text for a client that connects after the first change.
func proofread() []byte {
	text := stream.NewText(goldenHead)
	text.PutProofreadText(0, 0, "明日の会議に行ます。\n")
	text.PutProofreadText(1, 11, "🧵を持参下さい。")
	text.PutChange(1, json.RawMessage(`{"id":1,"start":6,"end":7,"before":"行","after":"行き","kind":"typo",`+
		`"reason":"送り仮名の抜け"}`))
	w := text.Watch("")
	text.AppendText("## 直した箇所\n\n- 「会議に行ます」→「会議に行きます」（誤字）送り仮名の抜け\n")
	text.PutChange(2, json.RawMessage(`{"id":2,"start":16,"end":19,"before":"下さい","after":"ください",`+
		`"kind":"variation","reason":"補助動詞は仮名書き","question":true}`))
	text.PutProofread(json.RawMessage(`{"changes":2,"dropped":1}`))
	text.Finish(done)
	return drain(w)
}
