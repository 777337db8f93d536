package stream_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/tsumugi-ai/tsumugi/stream"
)

// token has two characters, a typical length for Japanese.
const token = "回答"

// BenchmarkAppendText measures publishing a token while many watches wait for it. The watches read in separate
// goroutines. Their reading counts as CPU time of the server, but the publisher does not wait for it.
func BenchmarkAppendText(b *testing.B) {
	for _, watches := range []int{0, 1, 1000} {
		b.Run(fmt.Sprintf("watches=%d", watches), func(b *testing.B) {
			text := stream.NewText(stream.Head{MessageID: "m", Run: 1})
			ctx, cancel := context.WithCancel(b.Context())
			var readers sync.WaitGroup
			for range watches {
				watch := text.Watch("")
				readers.Go(func() { read(ctx, watch) })
			}
			b.ReportAllocs()
			for b.Loop() {
				text.AppendText(token)
			}
			cancel()
			readers.Wait()
		})
	}
}

// read reads a watch to its end.
func read(ctx context.Context, watch *stream.Watch) {
	for {
		for watch.Take() != nil {
			continue
		}
		more, over := watch.Wait()
		if over {
			return
		}
		select {
		case <-more:
		case <-ctx.Done():
			return
		}
	}
}

// longText returns an answer of 100 KB, published token by token.
func longText() *stream.Text {
	text := stream.NewText(stream.Head{MessageID: "m", Run: 1})
	for range 100_000 / len(token) {
		text.AppendText(token)
	}
	return text
}

// BenchmarkFind measures concurrent lookups of texts.
func BenchmarkFind(b *testing.B) {
	hub := stream.NewHub(stream.HubConfig{})
	hub.Open(stream.Head{MessageID: "m", Run: 1})
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if hub.Find("m") == nil {
				b.Error("not found")
			}
		}
	})
}

// BenchmarkWatchCatchUp measures a client that joins an answer of 100 KB late, or resumes near its end.
func BenchmarkWatchCatchUp(b *testing.B) {
	text := longText()
	length := len(text.Text())
	for name, offset := range map[string]int{"all": 0, "last-600-bytes": length - 600} {
		id := ""
		if offset > 0 {
			id = stream.Cursor{Run: 1, Offset: offset}.String()
		}
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(length - offset))
			b.ReportAllocs()
			for b.Loop() {
				watch := text.Watch(id)
				for watch.Take() != nil {
					continue
				}
			}
		})
	}
}

// BenchmarkEscape measures encoding an answer of 100 KB as JSON, which is nearly all of the work for a late client.
func BenchmarkEscape(b *testing.B) {
	for name, piece := range map[string]string{
		"japanese": "紡ぐ糸は、やがて布になります。", "english": "The thread becomes cloth. ",
		"code": "if (a[\"b\"] !== '\\n') {\n\treturn\n}\n",
	} {
		content := strings.Repeat(piece, 100_000/len(piece))
		text := stream.NewText(stream.Head{MessageID: "m", Run: 1})
		text.AppendText(content)
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(content)))
			b.ReportAllocs()
			for b.Loop() {
				text.Watch("")
			}
		})
	}
}
