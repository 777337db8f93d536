package sse_test

import (
	"bufio"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
	"weak"

	"github.com/tsumugi-ai/tsumugi/stream"
	"github.com/tsumugi-ai/tsumugi/stream/sse"
)

// TestReadLogIsCollected: a segment that all subscribers have read is garbage-collected, except for the last one.
func TestReadLogIsCollected(t *testing.T) {
	onBothPaths(t, func(t *testing.T, cfg sse.Config) {
		const watchers = 4
		update := stream.Update{Run: 1} // Several segments.
		for i := range 32 {
			data := fmt.Sprintf(`{"type":"data-step","id":"%d","data":{"detail":"%s"}}`, i, strings.Repeat("x", 700))
			update.Parts = append(update.Parts, stream.Part{Seq: i + 1, Key: strconv.Itoa(i), Data: []byte(data)})
		}
		text := newText(1)
		watch := text.Watch("")
		watch.Take()
		s := sse.NewServer(cfg)
		server := serve(t, text, s, nil)
		var readers sync.WaitGroup
		for range watchers {
			_, resp := ask(t, server, "")
			body := bufio.NewReader(resp.Body)
			readers.Go(func() {
				for line := ""; !strings.Contains(line, "終"); {
					var err error
					if line, err = body.ReadString('\n'); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		if err := text.Apply(update); err != nil {
			t.Error(err)
		}
		text.AppendText("終")
		readers.Wait()
		var pieces []weak.Pointer[byte]
		for piece := watch.Take(); piece != nil; piece = watch.Take() {
			pieces = append(pieces, weak.Make(&piece[0]))
		}
		read := pieces[:len(pieces)-1] // The text refers to the last one.
		held := func(p weak.Pointer[byte]) bool { return p.Value() != nil }
		// The last writer may not have cleared its batch yet.
		for deadline := time.Now().Add(10 * time.Second); slices.ContainsFunc(read, held) &&
			time.Now().Before(deadline); {
			runtime.GC()
		}
		if len(read) < 2 || slices.ContainsFunc(read, held) {
			t.Errorf("of %d segments, some are held that all have read", len(read))
		}
		text.Finish(done)
	})
}
