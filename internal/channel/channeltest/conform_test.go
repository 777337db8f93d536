package channeltest_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/tsumugi-ai/tsumugi/internal/channel"
	"github.com/tsumugi-ai/tsumugi/internal/channel/channeltest"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

func TestSurfaceConforms(t *testing.T) {
	t.Parallel()
	channeltest.Conform(t, func(*testing.T) channeltest.Subject {
		s := channeltest.New(channeltest.Traits())
		return channeltest.Subject{
			Surface: s, To: channel.Target{Channel: "C", Thread: "T"},
			Content: func(ref channel.Ref) (string, bool) {
				for _, m := range s.Messages() {
					if m.Ref == ref {
						text := m.Draft.Markdown + m.Draft.Reason
						if of := m.Draft.Approval; of != nil {
							text += of.Title + of.Arguments
						}
						return text, true
					}
				}
				return "", false
			},
			AddMessage: func(text string) channel.Ref { return s.AddMessage("佐藤", text) },
			CountFiles: func() int { return len(s.Attached()) },
			Expire:     s.Expire,
		}
	})
}

// TestStreamsExpire checks the lifetime of streams by a clock.
func TestStreamsExpire(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		traits := channeltest.Traits()
		traits.AppendLifetime = 4 * time.Minute
		s := channeltest.New(traits)
		d := channel.Draft{Markdown: "あ", State: channel.StateWriting}
		ref := must.Get(s.Begin(t.Context(), channel.Target{}, d))(t)
		time.Sleep(5*time.Minute + time.Second)
		if err := s.Append(t.Context(), channel.Target{}, ref, d, d); err != channel.ErrCannotAppend { //nolint:errorlint
			t.Errorf("%v", err)
		}
	})
}
