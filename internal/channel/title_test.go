package channel_test

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/internal/channel"
	"github.com/tsumugi-ai/tsumugi/internal/channel/channeltest"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
)

// titled adds a thread title to answers.
type titled struct{ *answers }

func (titled) FindThread(_ context.Context, _ identity.Owner, id uuid.UUID) (chat.Thread, error) {
	return chat.Thread{ID: id, Title: "旅費について"}, nil
}

func TestTitleOfADirectConversation(t *testing.T) {
	t.Parallel()
	for direct, want := range map[bool]int{true: 1, false: 0} {
		synctest.Test(t, func(t *testing.T) {
			p := newPlay(t, slack())
			s := channel.NewService(channel.Deps{
				Store: p.rows, Installations: installed{}, Chat: titled{p.answers},
				Surfaces: map[string]channel.Surface{channeltest.Name: p.surface}, Log: slog.New(slog.DiscardHandler),
			}, channel.Config{})
			s.Start()
			defer s.Stop()
			a := p.ask(newID())
			p.rows.mu.Lock()
			p.rows.list[a.id].Direct = direct
			p.rows.mu.Unlock()
			a.write("回答です。")
			a.finish()
			p.await(a)
			n := 0
			for _, call := range p.surface.Calls() {
				if call.Method == "title" && call.Draft.Markdown == "旅費について" {
					n++
				}
			}
			if n != want {
				t.Errorf("direct %v: %d titles", direct, n)
			}
		})
	}
}
