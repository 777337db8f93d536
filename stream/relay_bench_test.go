package stream_test

import (
	"testing"

	"github.com/tsumugi-ai/tsumugi/stream"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// BenchmarkRelay measures sending a token to another server, without the transport: creating, encoding, decoding and
// applying the update.
func BenchmarkRelay(b *testing.B) {
	origin := stream.NewText(stream.Head{MessageID: "m", Run: 1})
	var entry []byte
	b.Run("encode", func(b *testing.B) {
		var sent stream.Position
		b.ReportAllocs()
		for b.Loop() {
			origin.AppendText(token)
			var u stream.Update
			u, sent = origin.Since(sent)
			entry = u.Append(entry[:0])
		}
	})
	b.Run("apply", func(b *testing.B) {
		mirror := stream.NewText(stream.Head{MessageID: "m", Run: 1})
		u := stream.Update{Run: 1, Text: []byte(token)}
		b.ReportAllocs()
		for b.Loop() {
			entry = u.Append(entry[:0])
			got, err := stream.ParseUpdate(entry)
			if err == nil {
				err = mirror.Apply(got)
			}
			must.Succeed(b, err)
			u.Offset += len(token)
		}
	})
}
