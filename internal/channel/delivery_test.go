package channel_test

import (
	"errors"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/tsumugi-ai/tsumugi/internal/channel"
	"github.com/tsumugi-ai/tsumugi/internal/channel/channeltest"
)

func TestR88_AnswerGrowsInOneMessage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPlay(t, slack())
		s := p.start()
		defer s.Stop()
		a := p.ask(newID())
		for range 300 {
			a.write("少しずつ書きます。")
			time.Sleep(100 * time.Millisecond)
		}
		text := a.finish()
		p.await(a)
		p.shows(a, text, channel.StateDone)
		checkInterval(t, p.surface.Calls(), time.Second)
		if n := len(p.surface.Calls()); n < 25 || n > 36 {
			t.Errorf("%d calls in 30 s", n)
		}
		if stats := s.Stats(); stats.Delivered != 1 || stats.Delivering != 0 {
			t.Errorf("%+v", stats)
		}
	})
}

// checkInterval checks the interval between two writes to a message.
func checkInterval(t *testing.T, calls []channeltest.Call, interval time.Duration) {
	t.Helper()
	last := make(map[channel.Ref]time.Time)
	for _, c := range calls {
		if c.Ref == "" {
			continue
		}
		if at, ok := last[c.Ref]; ok && c.At.Sub(at) < interval {
			t.Errorf("%s of message %s after %v", c.Method, c.Ref, c.At.Sub(at))
		}
		last[c.Ref] = c.At
	}
}

func TestR88_AnswerOutlivesItsStream(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPlay(t, slack())
		s := p.start()
		defer s.Stop()
		a := p.ask(newID())
		for i := range 600 {
			if i < 200 || i > 400 { // A write when the stream reaches its maximum age.
				a.write("長い回答です。")
			}
			time.Sleep(time.Second)
		}
		text := a.finish()
		p.await(a)
		p.shows(a, text, channel.StateDone)
		checkInterval(t, p.surface.Calls(), time.Second)
		var began, finished time.Time
		replaced := 0
		for _, c := range p.surface.Calls() {
			switch c.Method {
			case "begin":
				began = c.At
			case "finish":
				finished = c.At
			case "append":
				if !finished.IsZero() {
					t.Error("appended to a finished stream")
				}
			case "replace":
				replaced++
			}
		}
		if after := finished.Sub(began); after < 4*time.Minute+29*time.Second || after > 4*time.Minute+32*time.Second {
			t.Errorf("the stream was finished after %v", after)
		}
		if replaced < 100 {
			t.Errorf("replaced %d times", replaced)
		}
	})
}

func TestR88_LaterRunReplaces(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		traits := slack()
		traits.MaxCharacters = 300
		p := newPlay(t, traits)
		s := p.start()
		defer s.Stop()
		a := p.ask(newID())
		a.write(strings.Repeat("最初の試みです。\n\n", 90)) // Three messages.
		time.Sleep(20 * time.Second)
		if n := len(p.surface.Messages()); n < 3 {
			t.Fatalf("%d messages", n)
		}
		a.run(2)
		time.Sleep(5 * time.Second)
		a.write("二度目の試みです。")
		time.Sleep(5 * time.Second)
		if m := p.surface.Messages(); len(m) != 1 || m[0].Draft.Markdown != "二度目の試みです。" {
			t.Errorf("%d messages: %q", len(m), m[0].Draft.Markdown)
		}
		a.write(strings.Repeat("短く書きます。\n\n", 40))
		text := a.finish()
		p.await(a)
		p.shows(a, text, channel.StateDone)
	})
}

func TestR88_RateLimitHoldsForOneInstallation(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPlay(t, slack())
		limited, free := newID(), newID()
		var until atomic.Pointer[time.Time]
		p.surface.SetFault(func(c channeltest.Call) channeltest.Fault {
			if c.To.Installation.ID != limited || c.Method != "append" {
				return channeltest.Fault{}
			}
			if at := until.Load(); at != nil {
				if time.Now().Before(*at) {
					t.Errorf("called %v too early", time.Until(*at))
				}
				return channeltest.Fault{}
			}
			at := time.Now().Add(7 * time.Second)
			until.Store(&at)
			return channeltest.Fault{Before: &channel.RateLimitError{Method: "append", RetryAfter: 7 * time.Second}}
		})
		s := p.start()
		defer s.Stop()
		a, b, other := p.ask(limited), p.ask(limited), p.ask(free)
		appended := func() (n int) {
			for _, c := range p.surface.Calls() {
				if c.To.Installation.ID == free && c.Method == "append" {
					n++
				}
			}
			return n
		}
		var before int
		for range 40 {
			for _, w := range []*answerOf{a, b, other} {
				w.write("文です。")
			}
			if at := until.Load(); at != nil && before == 0 {
				before = appended() + 1
			}
			time.Sleep(250 * time.Millisecond)
		}
		if n := appended() - before; n < 5 {
			t.Errorf("the other installation got %d calls in the meantime", n)
		}
		for _, w := range []*answerOf{a, b, other} {
			text := w.finish()
			p.await(w)
			p.shows(w, text, channel.StateDone)
		}
		if s.Stats().Limited != 1 {
			t.Errorf("%+v", s.Stats())
		}
	})
}

func TestR88_NothingOfALongAnswerIsLost(t *testing.T) {
	t.Parallel()
	for name, most := range map[string]int{"in messages": 20, "and as a file": 5} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				traits := slack()
				traits.MaxMessages = most
				p := newPlay(t, traits)
				s := p.start()
				defer s.Stop()
				a := p.ask(newID())
				text := longAnswer(60_000)
				for rest := []rune(text); len(rest) > 0; rest = rest[min(len(rest), 150):] {
					a.write(string(rest[:min(len(rest), 150)]))
					time.Sleep(200 * time.Millisecond)
				}
				if stored := a.finish(); stored != text {
					t.Fatal("the answer is another one")
				}
				p.await(a)
				p.shows(a, text, channel.StateDone)
				checkInterval(t, p.surface.Calls(), time.Second)
				whole := channel.Split(text, traits.MaxCharacters, true)
				attached := p.surface.Attached()
				if len(whole) <= most {
					if len(attached) > 0 {
						t.Error("a file was attached")
					}
					return
				}
				if len(attached) != 1 || attached["回答.md "+a.id.String()] != text {
					t.Error("the file is not the answer")
				}
			})
		})
	}
}

// TestR88_KilledFiftyTimes kills the delivering server fifty times during one answer, before and after the effect of
// calls.
func TestR88_KilledFiftyTimes(t *testing.T) {
	t.Parallel()
	for seed := range uint64(4) {
		synctest.Test(t, func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // Repeatable.
			p := newPlay(t, slack())
			var current atomic.Pointer[process]
			died := make(chan struct{}, 1)
			var killAt, calls atomic.Int64
			killAt.Store(1)
			p.surface.SetFault(func(c channeltest.Call) channeltest.Fault {
				if calls.Add(1) != killAt.Load() {
					return channeltest.Fault{}
				}
				current.Load().dead.Store(true)
				died <- struct{}{}
				if c.Method != "status" && random.IntN(2) == 0 {
					return channeltest.Fault{Before: errDead}
				}
				return channeltest.Fault{}
			})
			current.Store(p.start())
			a := p.ask(newID())
			var enough atomic.Bool
			writing := make(chan struct{})
			go func() {
				defer close(writing)
				for i := 0; i < 6000 && !enough.Load(); i++ {
					a.write("文です。")
					time.Sleep(200 * time.Millisecond)
				}
			}()
			for range 50 {
				<-died
				at, seen := time.Now(), calls.Load()
				current.Load().Stop()
				current.Store(p.start())
				for calls.Load() == seen {
					time.Sleep(100 * time.Millisecond)
				}
				if silent := time.Since(at); silent > 10*time.Second {
					t.Errorf("taken over after %v", silent)
				}
				killAt.Store(calls.Load() + 1 + random.Int64N(6))
			}
			killAt.Store(-1)
			time.Sleep(time.Minute) // The last server delivers more text.
			enough.Store(true)
			<-writing
			text := a.finish()
			p.await(a)
			p.shows(a, text, channel.StateDone)
			current.Load().Stop()
		})
	}
}

// TestR88_MessageOfAKilledServerIsTakenOver kills the server after it has posted a message and before it has stored the
// message's name. The next server finds the message, whatever the current text of the next run is.
func TestR88_MessageOfAKilledServerIsTakenOver(t *testing.T) {
	t.Parallel()
	for name, next := range map[string]string{
		"no text yet": "", "a shorter text": "はじ", "another text": "別の書き出しです。",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := newPlay(t, slack())
				var current *process
				died := make(chan struct{})
				p.surface.SetFault(func(c channeltest.Call) channeltest.Fault {
					if c.Method == "begin" && !current.dead.Swap(true) {
						close(died)
					}
					return channeltest.Fault{}
				})
				current = p.start()
				a := p.ask(newID())
				a.write("はじめの文です。")
				<-died
				current.Stop()
				a.run(2)
				a.write(next)
				p.surface.SetFault(nil)
				current = p.start()
				defer current.Stop()
				time.Sleep(time.Minute)
				a.write("終わりの文です。")
				text := a.finish()
				p.await(a)
				p.shows(a, text, channel.StateDone)
			})
		})
	}
}

// TestR88_CallsOfUnknownEffect makes a third of the calls fail, before or after their effect.
func TestR88_CallsOfUnknownEffect(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		synctest.Test(t, func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 2)) //nolint:gosec // Repeatable.
			traits := slack()
			traits.MaxCharacters = 400
			p := newPlay(t, traits)
			p.surface.SetFault(func(channeltest.Call) channeltest.Fault {
				switch random.IntN(9) {
				case 0:
					return channeltest.Fault{Before: errors.New("connection refused")}
				case 1:
					return channeltest.Fault{After: errors.New("timeout")}
				case 2:
					return channeltest.Fault{Before: &channel.RateLimitError{RetryAfter: 3 * time.Second}}
				}
				return channeltest.Fault{}
			})
			s := p.start()
			defer s.Stop()
			a := p.ask(newID())
			for range 100 {
				a.write(sentences(7))
				time.Sleep(time.Second)
			}
			text := a.finish()
			p.await(a)
			p.shows(a, text, channel.StateDone)
		})
	}
}

func TestSurfaceThatCannotReplace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPlay(t, channel.Traits{MinInterval: time.Second, MaxCharacters: 500, MaxMessages: 3})
		s := p.start()
		defer s.Stop()
		a := p.ask(newID())
		var failed atomic.Bool
		p.surface.SetFault(func(c channeltest.Call) channeltest.Fault {
			if c.Method == "begin" && failed.CompareAndSwap(false, true) {
				return channeltest.Fault{After: errors.New("timeout")}
			}
			return channeltest.Fault{}
		})
		a.write(sentences(100))
		time.Sleep(5 * time.Second)
		if n := len(p.surface.Messages()); n > 1 {
			t.Errorf("%d messages before the end", n)
		}
		text := a.finish()
		p.await(a)
		p.shows(a, text, channel.StateDone)
	})
}

func TestGracefulStopHandsOver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPlay(t, slack())
		first, second := p.start(), p.start()
		defer second.Stop()
		a := p.ask(newID())
		for range 20 {
			a.write("文です。")
			time.Sleep(time.Second)
		}
		seen, at := len(p.surface.Calls()), time.Now()
		first.Stop()
		a.write("最後の文です。")
		for len(p.surface.Calls()) == seen {
			time.Sleep(50 * time.Millisecond)
		}
		if silent := time.Since(at); silent > 2*time.Second {
			t.Errorf("taken over after %v", silent)
		}
		text := a.finish()
		p.await(a)
		p.shows(a, text, channel.StateDone)
		for _, c := range p.surface.Calls() {
			if c.Method == "replace" {
				t.Error("what was known was replaced")
			}
		}
	})
}

func TestDeliveryOfDeletedAnswers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPlay(t, slack())
		s := p.start()
		defer s.Stop()
		removed, deleted := p.ask(newID()), p.ask(newID())
		removed.write("文です。")
		deleted.write("別の文です。")
		time.Sleep(3 * time.Second)
		for _, m := range p.surface.Messages() {
			if m.Draft.AnswerID == removed.id {
				p.surface.RemoveMessage(m.Ref) // By a person on the surface.
			}
		}
		removed.write("続きです。")
		p.await(removed)

		deleted.mu.Lock() // With its thread, in the app.
		deleted.deleted = true
		deleted.text.Abandon()
		deleted.mu.Unlock()
		p.await(deleted)
		m := p.surface.Messages()
		if len(m) != 1 || m[0].Draft.State != channel.StateStopped || m[0].Draft.Reason == "" || m[0].Streaming {
			t.Errorf("%+v", m)
		}
	})
}

// TestLongRenderingsAreShortened: the surface renders drafts to much longer texts, so that the messages must become
// shorter.
func TestLongRenderingsAreShortened(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPlay(t, slack())
		p.surface.SetFault(func(c channeltest.Call) channeltest.Fault {
			if utf8.RuneCountInString(c.Draft.Markdown) > 8000 {
				return channeltest.Fault{Before: channel.ErrTooLong}
			}
			return channeltest.Fault{}
		})
		s := p.start()
		defer s.Stop()
		a := p.ask(newID())
		for range 100 {
			a.write(sentences(40))
			time.Sleep(time.Second)
		}
		text := a.finish()
		p.await(a)
		want := channel.Split(text, 11_000*4/5*4/5, true)
		got := p.surface.Messages()
		if len(got) != len(want) {
			t.Fatalf("%d messages, not %d", len(got), len(want))
		}
		for i, m := range got {
			if m.Draft.Markdown != want[i].Markdown || m.Draft.Part != i || m.Streaming {
				t.Errorf("message %d says %q", i, m.Draft.Markdown)
			}
		}
	})
}
