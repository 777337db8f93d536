package stream_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/tsumugi-ai/tsumugi/stream"
)

// TestToolCallsAfterEveryCut: a client whose connection is cut at any line receives each call and each result again,
// with the same bytes, and the rest of the text.
func TestToolCallsAfterEveryCut(t *testing.T) {
	t.Parallel()
	for _, calls := range []int{0, 1, 2, 20} {
		text := newText(1)
		whole := ""
		write := func(piece string) {
			text.AppendText(piece)
			whole += piece
		}
		live := text.Watch("")
		for i := range calls {
			id := fmt.Sprintf("call%d", i)
			text.PutToolCall(stream.ToolCall{
				ID: id, Name: "calculate", Title: "計算", Input: json.RawMessage(`{"n":"行\n"}`), Offset: len(whole),
			})
			if i%2 == 0 {
				write("途中、🧵")
			}
			result := stream.ToolResult{ID: id, Output: "結果\n" + id}
			if i%3 == 1 {
				result = stream.ToolResult{ID: id, Error: "失敗"}
			}
			text.PutToolResult(result)
		}
		write("終わり")
		text.Finish(done)
		raw := string(drain(live))
		for cut := range len(raw) + 1 {
			if cut > 0 && raw[cut-1] != '\n' {
				continue
			}
			got, parts, cursor := "", make(map[string]string), ""
			read := func(raw string) {
				events, _ := parseEvents(t, []byte(raw))
				for _, e := range events {
					var ch struct{ Type, ToolCallID, Delta string }
					_ = json.Unmarshal([]byte(e.data), &ch)
					if e.id != "" {
						cursor = e.id
					}
					got += ch.Delta
					if !strings.HasPrefix(ch.Type, "tool-") {
						continue
					}
					key := ch.ToolCallID + strings.TrimSuffix(strings.TrimPrefix(ch.Type, "tool-"), "-available")
					if before, found := parts[key]; found && before != e.data {
						t.Errorf("cut at %d: %s became %s", cut, before, e.data)
					}
					parts[key] = e.data
				}
			}
			end := strings.LastIndex(raw[:cut], "\n\n") // A client drops an incomplete event.
			read(raw[:max(end, 0)] + "\n\n")
			read(string(drain(text.Watch(cursor))))
			if got != whole || len(parts) != 2*calls {
				t.Fatalf("%d calls, cut at %d: %q with %d parts", calls, cut, got, len(parts))
			}
		}
	}
}
