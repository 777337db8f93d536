package sse_test

import (
	"io"
	"net/http"
	"testing"

	"github.com/tsumugi-ai/tsumugi/stream"
	"github.com/tsumugi-ai/tsumugi/stream/sse"
	"github.com/tsumugi-ai/tsumugi/stream/streamtest"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// TestR05_CutAtEveryByteOverTheWire cuts real connections: the first one during the first run, the second one during
// the second run.
func TestR05_CutAtEveryByteOverTheWire(t *testing.T) {
	onBothPaths(t, func(t *testing.T, cfg sse.Config) {
		texts, runs, thoughts := make([]*stream.Text, 2), []string{"紡ぐとは、🧵", "紡ぐ"}, []string{"何を、聞かれたか。", ""}
		for i, said := range runs {
			texts[i] = newText(i + 1)
			texts[i].AppendReasoning(thoughts[i])
			texts[i].AppendText(said)
		}
		texts[1].Finish(done)
		s := sse.NewServer(cfg)
		server := serveWith(t, s, func(w http.ResponseWriter, r *http.Request) {
			text := texts[0]
			if r.URL.Path == "/2" {
				text = texts[1]
			}
			s.Serve(w, r, sse.Delivery{Watch: text.Watch(r.Header.Get("Last-Event-ID")), Done: once(t, nil)})
		})
		get := func(c *streamtest.Reader, path string, limit int64) {
			r, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+path, nil)
			if c.Cursor != "" {
				r.Header.Set("Last-Event-ID", c.Cursor)
			}
			resp := must.Get(server.Client().Do(r))(t)
			defer resp.Body.Close()
			raw, err := io.ReadAll(io.LimitReader(resp.Body, limit))
			if err != nil {
				t.Error(err)
			}
			if _, err := c.Read(string(raw)); err != nil {
				t.Error(err)
			}
		}
		// The bytes sent before the text pauses.
		length := 0
		for w := texts[0].Watch(""); ; {
			piece := w.Take()
			if piece == nil {
				break
			}
			length += len(piece)
		}
		for cut := range length {
			for _, rule := range []streamtest.Rule{
				streamtest.AtBlankLine, streamtest.WithData,
				streamtest.AtLineChecked,
			} {
				c := streamtest.Reader{Rule: rule}
				get(&c, "/1", int64(cut))
				get(&c, "/2", int64(cut*7%length))
				for tries := 0; !c.Done && tries < 3; tries++ {
					get(&c, "/2", 1<<20)
				}
				if c.Text != runs[1] || c.Reasoning != thoughts[1] || !c.Done {
					t.Fatalf("cut at %d, %s: %q after %q, done %v", cut, rule, c.Text, c.Reasoning, c.Done)
				}
			}
		}
	})
}
