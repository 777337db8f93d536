package chat_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/internal/llm"
	"github.com/tsumugi-ai/tsumugi/internal/llm/llmtest"
	"github.com/tsumugi-ai/tsumugi/internal/tool"
)

// library offers a tool "search", which returns the sources with the ids in its arguments.
type library struct {
	offered bool
	waits   chan struct{} // If not nil, calls for "wait" wait for it.
}

func (l library) SourceTools(*chat.AnswerRequest, func() []chat.Source) []tool.Tool {
	if !l.offered {
		return nil
	}
	return []tool.Tool{{
		Name: tool.SearchDocuments, Title: "文書を検索", Rule: tool.RuleAllow,
		Call: func(ctx context.Context, arguments json.RawMessage) (tool.Result, error) {
			var names []string
			if err := json.Unmarshal(arguments, &names); err != nil {
				return tool.Result{}, err
			}
			var found []chat.Source
			for _, name := range names {
				if name == "wait" && l.waits != nil {
					select {
					case <-l.waits:
					case <-ctx.Done():
						return tool.Result{}, ctx.Err()
					}
				}
				found = append(found, chat.Source{
					Citation: chat.Citation{
						ChunkEmbeddingID: uuid.NewSHA1(uuid.NameSpaceURL, []byte(name)), Filename: name,
						URL: "https://example.jp/" + name, Site: "example.jp",
					},
					Text: name + "の内容",
				})
			}
			return tool.Result{Found: found, Untrusted: true}, nil
		},
	}}
}

// sourcesOf returns the numbers and titles in the results of a request.
func sourcesOf(req llm.Request) (list []string) {
	for _, m := range req.Messages {
		if m.Role != llm.RoleTool {
			continue
		}
		for line := range strings.Lines(m.Content) {
			var index int
			var title string
			if n, _ := fmt.Sscanf(line, `<source index="%d" title=%q`, &index, &title); n == 2 {
				list = append(list, fmt.Sprint(index, title))
			}
		}
	}
	return list
}

// TestTakeoverKeepsNumbersOfFoundSources: a server crashes after a call has found sources, and while another call of the
// same round runs. The next server has the same numbers, and the answer cites them all.
func TestTakeoverKeepsNumbersOfFoundSources(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	f.giveTools()
	grounded := f.groundedIn(three...)
	var ids []uuid.UUID
	ground := grounder(func(ctx context.Context, req *chat.AnswerRequest, tell func(chat.Step)) (chat.Grounds, error) {
		grounds, err := grounded(ctx, req, tell)
		for i := range grounds.Sources { // The same ones for each run.
			if len(ids) <= i {
				ids = append(ids, grounds.Sources[i].ChunkEmbeddingID)
			}
			grounds.Sources[i].ChunkEmbeddingID = ids[i]
		}
		return grounds, err
	})
	model := llmtest.NewLive()
	rounds := &roundStore{Store: f.db, ended: make(chan string, 10)}
	crashed := f.startWith(chat.Deps{
		Model: model, Grounder: ground, Store: rounds, Offers: continuingOffers,
		SourceTools: library{offered: true, waits: make(chan struct{})}.SourceTools,
	}, mute())
	exchange := f.sendTo(crashed, f.question("調べて"))
	call := model.Next(t)
	call.Emit("規則では[2]。")
	call.CallTools(calling("w", tool.SearchDocuments, `["wait","b"]`), calling("a", tool.SearchDocuments, `["a","b"]`))
	if id := <-rounds.ended; id != "a" {
		t.Fatalf("%s has ended", id)
	}

	released := make(chan struct{})
	close(released)
	second := llmtest.NewLive()
	pieces := &checkpoints{Store: f.db, stored: make(chan string, 100)}
	s := f.startWith(chat.Deps{
		Model: second, Grounder: ground, Store: pieces, Offers: continuingOffers,
		SourceTools: library{offered: true, waits: released}.SourceTools,
	}, chat.Config{Alone: true, Checkpoints: time.Millisecond})
	call = second.Next(t)
	want := []string{"6wait", "4a", "5b"}
	if got := sourcesOf(call.Request); !slices.Equal(got, want) {
		t.Fatalf("sources %q", got)
	}
	if result := results(call.Request)[0]; !strings.Contains(result, "すでに示した <source>: [5]") {
		t.Errorf("result %q", result)
	}
	call.Emit("aの内容[4]、waitの内容[6]。" + long)
	<-pieces.stored

	third := llmtest.NewLive()
	last := f.startWith(chat.Deps{
		Model: third, Grounder: ground, Offers: continuingOffers, SourceTools: library{offered: true}.SourceTools,
	}, chat.Config{Alone: true})
	_ = s
	call = third.Next(t)
	if got := sourcesOf(call.Request); !slices.Equal(got, want) || !strings.Contains(call.Request.Prefix, "[6]") {
		t.Fatalf("sources %q, prefix %q", got, call.Request.Prefix)
	}
	call.Emit("bの内容[5][9]。")
	call.Finish()
	answer := f.waitAt(last, exchange).Answer
	if got := numbers(answer.Cited()); !slices.Equal(got, []string{"2 strong", "4 strong", "5 strong", "6 strong"}) ||
		strings.Contains(answer.Content, "[9]") || !strings.HasPrefix(answer.Content, "規則では[2]。\n\naの内容[4]") {
		t.Errorf("cited %q in %q", got, answer.Content)
	}
	raw := f.follow(last, exchange.Answer.ID, "")
	if n := strings.Count(raw, `"type":"source-url"`); n != 3 {
		t.Errorf("%d pages in %s", n, raw)
	}
	for _, c := range answer.ToolCalls {
		if c.Sources != nil || !c.Untrusted || !strings.Contains(c.Result, "（example.jp）") {
			t.Errorf("stored %+v", c)
		}
	}
}
