package system_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tsumugi-ai/tsumugi/test/cluster"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// TestR31_DroppedStreamsResume cuts two thousand streams at once. Each resumes at its own cursor. The scenario drop
// of loadgen measures the limit of 10 s on an idle machine.
func TestR31_DroppedStreamsResume(t *testing.T) {
	t.Parallel()
	const streams = 2000
	back := make(chan struct{}) // Closed when all clients are connected.
	s := newSingle(t)
	ctx, cancel := context.WithTimeout(t.Context(), 2*waitLimit)
	defer cancel()
	link := must.Get(cluster.NewLink(ctx, s.cfg.Listen))(t)
	t.Cleanup(link.Close)
	through := func() string { return "http://" + link.Address() }

	var mu sync.Mutex
	var dropped time.Time
	var took []time.Duration
	var begun sync.WaitGroup
	var fs followers
	// The answers last longer than the test needs.
	all := s.askMany(t, s.url(), 20, answer{chars: 16000, rate: 2})
	for i := range streams {
		a := all[i%len(all)]
		f := s.watcher(a, through)
		begun.Add(1)
		started, returned := firstResponse(&begun), false
		f.onBegin = func(resp *http.Response) {
			started(resp)
			mu.Lock()
			defer mu.Unlock()
			// Clients that a busy server rejected reconnect again.
			if !dropped.IsZero() && !returned && resp.StatusCode < 300 {
				returned = true
				if took = append(took, time.Since(dropped)); len(took) == streams {
					close(back)
				}
			}
		}
		fs.all = append(fs.all, f)
		fs.wait.Go(func() {
			if err := f.follow(ctx); err != nil && !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		})
	}
	join(ctx, t, &begun)
	mu.Lock()
	dropped = time.Now()
	mu.Unlock()
	link.Cut()
	link.Heal()
	select {
	case <-back:
	case <-ctx.Done():
		t.Fatal("not all came back")
	}
	kept := make(map[string]string)
	for _, a := range all {
		must.Succeed(t, s.call(ctx, http.MethodPost, s.url()+"/v1/message/"+a.Answer.ID+"/stop", nil, nil))
	}
	join(ctx, t, &fs.wait)
	for _, a := range all {
		messages := must.Get(s.messages(ctx, s.url(), a.ThreadID))(t)
		if kept[a.Answer.ID] = messages[1].Content; !strings.HasPrefix(a.want, messages[1].Content) {
			t.Errorf("message %s: what is stored is not what the model said", a.Answer.ID)
		}
	}
	for _, f := range fs.all {
		if text := kept[f.messageID]; f.ended != "abort" || text == "" || digest(string(f.text)) != digest(text) ||
			f.resets > 0 {
			t.Errorf("message %s: %s after %d bytes and %d resets; %d are stored", f.messageID, f.ended, len(f.text),
				f.resets, len(text))
		}
	}
	t.Logf("%d streams were back %v to %v after they were dropped", len(took), slices.Min(took).Round(time.Millisecond),
		slices.Max(took).Round(time.Millisecond))
}

// TestR31_ExcessStreamsAreRejected opens more streams than a server admits. The rejected clients receive a random
// Retry-After and reconnect.
func TestR31_ExcessStreamsAreRejected(t *testing.T) {
	t.Parallel()
	const most = 50
	model := newHeldModel(t)
	model.end()
	s := newSingle(t, model.setting, "TSUMUGI_MAX_STREAMS=50")
	ctx, cancel := context.WithTimeout(t.Context(), waitLimit)
	defer cancel()
	all := s.askMany(t, s.url(), 5, answer{chars: 200, rate: 20})
	var mu sync.Mutex
	refused, times := make(map[string]int), 0
	var fs followers
	for i := range 3 * most {
		a := all[i%len(all)]
		f := s.watcher(a, s.url)
		f.onDrop = func(err error, _ time.Duration) {
			p, ok := errors.AsType[*problem](err)
			if !ok {
				return
			}
			mu.Lock()
			defer mu.Unlock()
			refused[p.RetryAfter]++
			if times++; times == 2*most { // Start the answers when all clients have connected.
				model.begin()
			}
			if p.Status != http.StatusServiceUnavailable || p.Detail == "" {
				t.Errorf("rejected with %v", p)
			}
		}
		fs.run(ctx, t, f, a.want)
	}
	join(ctx, t, &fs.wait)
	t.Logf("rejections by Retry-After in seconds: %v", refused)
	if len(refused) < 3 {
		t.Errorf("rejections by Retry-After in seconds: %v", refused)
	}
}
