package channel_test

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tsumugi-ai/tsumugi/internal/channel"
	"github.com/tsumugi-ai/tsumugi/internal/channel/channeltest"
)

// TestFailingDeliveries: a delivery that the surface refuses is given up soon, even if the servers restart. During an
// outage it waits for hours.
func TestFailingDeliveries(t *testing.T) {
	t.Parallel()
	refused, down := fmt.Errorf("invalid_blocks: %w", channel.ErrRefused), errors.New("connection refused")
	for name, test := range map[string]struct {
		method      string // "" for all, "installation" for Installations.Installation.
		failure     error
		to          time.Duration // End of the failures.
		live, ended time.Duration // The delivery is not given up before live, and over before ended.
		delivered   bool
	}{
		"a refused message":  {"begin", refused, time.Hour, 10 * time.Minute, 30 * time.Minute, false},
		"a refused update":   {"replace", refused, time.Hour, 10 * time.Minute, 30 * time.Minute, false},
		"a conflict":         {"replace", channel.ErrCannotAppend, time.Hour, 10 * time.Minute, 30 * time.Minute, false},
		"refused for a time": {"begin", refused, 10 * time.Minute, 10 * time.Minute, 30 * time.Minute, true},
		"a long outage":      {"", down, 90 * time.Minute, 90 * time.Minute, 2 * time.Hour, true},
		"an endless outage":  {"", down, 3 * time.Hour, 119 * time.Minute, 122 * time.Minute, false},
		"no credentials":     {"installation", down, 0, 119 * time.Minute, 122 * time.Minute, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var calls atomic.Int64
				p, began := newPlay(t, slack()), time.Now()
				p.config = channel.Config{
					Lease: time.Minute, Heartbeat: 15 * time.Second, Poll: 15 * time.Second, MaxOutage: 2 * time.Hour,
				}
				if test.method == "installation" {
					p.installed.failure = test.failure
				}
				p.surface.SetFault(func(c channeltest.Call) (f channeltest.Fault) {
					switch {
					case c.Method == "append": // So that messages are replaced.
						f.Before = channel.ErrCannotAppend
					case c.Method == "notify" || test.method != "" && c.Method != test.method:
					case time.Since(began) < test.to:
						calls.Add(1)
						f.Before = test.failure
					}
					return f
				})
				s := p.start()
				a := p.ask(newID())
				a.write("文です。")
				time.Sleep(5 * time.Second)
				a.write("続きです。")
				time.Sleep(5 * time.Second)
				s.Stop()
				s = p.start()
				defer s.Stop()
				text := a.finish()
				time.Sleep(test.live - time.Since(began) - time.Second)
				if p.over(a) {
					t.Fatalf("over before %v", test.live)
				}
				time.Sleep(test.ended - time.Since(began))
				if !p.over(a) {
					t.Fatalf("not over after %v and %d calls", test.ended, calls.Load())
				}
				stats, notices := s.Stats(), p.surface.Notices()
				if test.delivered {
					p.shows(a, text, channel.StateDone)
					if stats.Abandoned != 0 || len(notices) != 0 {
						t.Errorf("%+v, %+v", stats, notices)
					}
					return
				}
				if stats.Abandoned != 1 || stats.Delivered != 0 || stats.Delivering != 0 {
					t.Errorf("%+v", stats)
				}
				if test.method != "installation" &&
					(len(notices) != 1 || !strings.Contains(notices[0].Notice.URL, "/chat/")) {
					t.Errorf("%+v", notices)
				}
				if n := calls.Load(); errors.Is(test.failure, refused) && n != 12 {
					t.Errorf("%d refused calls", n)
				}
			})
		})
	}
}
