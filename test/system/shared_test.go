package system_test

import (
	"context"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/tsumugi-ai/tsumugi/test/must"
)

// TestR17_StopThroughAnotherServer follows an answer through two servers and stops it through a third one. Both streams
// end within a second, and the text written so far is stored.
func TestR17_StopThroughAnotherServer(t *testing.T) {
	t.Parallel()
	r := newRig(t, 3)
	ctx, cancel := context.WithTimeout(t.Context(), waitLimit)
	defer cancel()
	var took []time.Duration
	for _, a := range r.askMany(t, r.at(0)(), 5, answer{chars: 8000, rate: 20}) {
		var begun, ended sync.WaitGroup
		var all []*follower
		var stopped time.Time
		var mu sync.Mutex
		for _, server := range []int{0, 1} {
			f := r.watcher(a, r.at(server))
			begun.Add(1)
			started := sync.OnceFunc(begun.Done)
			f.onEvent = func(e event) {
				switch {
				case e.Type == "text-delta":
					started()
				case e.data == "[DONE]":
					mu.Lock()
					defer mu.Unlock()
					took = append(took, time.Since(stopped))
				}
			}
			all = append(all, f)
			ended.Go(func() {
				if err := f.follow(ctx); err != nil {
					t.Error(err)
				}
			})
		}
		join(ctx, t, &begun)
		mu.Lock()
		stopped = time.Now()
		mu.Unlock()
		must.Succeed(t, r.call(ctx, http.MethodPost, r.at(2)()+"/v1/message/"+a.Answer.ID+"/stop", nil, nil))
		join(ctx, t, &ended)
		messages := must.Get(r.messages(ctx, r.at(2)(), a.ThreadID))(t)
		kept := messages[len(messages)-1]
		for i, f := range all {
			if f.ended != "abort" || string(f.text) != kept.Content || kept.Content == "" ||
				kept.FinishReason != "stopped" {
				t.Errorf("watch %d ended with %q after %d bytes; %d are kept, %s", i, f.ended, len(f.text),
					len(kept.Content), kept.FinishReason)
			}
		}
	}
	slices.Sort(took)
	t.Logf("watches ended %v after the stop", took)
	// 1 s on an idle machine.
	if len(took) != 10 || took[len(took)-1] > time.Minute {
		t.Errorf("watches ended %v after the stop", took)
	}
}

// TestR30_ServerIsCutOffFromTheOthers breaks the link between a server and NATS, in two ways, while the server writes
// answers, and restores it. Clients of all servers receive the whole text. No answer is restarted.
func TestR30_ServerIsCutOffFromTheOthers(t *testing.T) {
	t.Parallel()
	r := newRig(t, 3)
	ctx, cancel := context.WithTimeout(t.Context(), 2*waitLimit)
	defer cancel()
	pid := r.Server(0).PID()
	for name, cut := range map[string]struct {
		link func(int)
		down time.Duration
	}{"broken off": {r.CutNATS, 30 * time.Second}, "silent": {r.SilenceNATS, 10 * time.Second}} {
		// The first ten answers end while the link is down, the others after it is restored.
		all := append(r.askMany(t, r.at(0)(), 10, answer{chars: 400, rate: 20, seed: 1}),
			r.askMany(t, r.at(0)(), 10, answer{chars: 1600, rate: 20, seed: 100})...)
		var own, others followers
		var begun sync.WaitGroup
		for _, a := range all {
			for server := range r.Len() {
				f := r.watcher(a, r.at(server))
				begun.Add(1)
				f.onEvent = spoken(&begun)
				if server == 0 {
					own.run(ctx, t, f, a.want)
				} else {
					others.run(ctx, t, f, a.want)
				}
			}
		}
		join(ctx, t, &begun)
		cut.link(0)
		pause(ctx, cut.down)
		r.HealNATS(0)
		healed := time.Now()
		join(ctx, t, &own.wait)
		join(ctx, t, &others.wait)
		t.Logf("%s: all had everything %v after the link was healed, the others in %d connections, %d answers "+
			"restarted", name,
			time.Since(healed).Round(time.Millisecond), others.sum(func(f *follower) int { return f.connections }),
			others.sum(func(f *follower) int { return f.resets }))
		if resets := own.sum(func(f *follower) int { return f.resets }); resets > 0 {
			t.Errorf("%s: %d answers were restarted although their server kept running", name, resets)
		}
		r.stored(t, r.at(2)(), all)
	}
	if r.Server(0).PID() != pid || ready(ctx, r.at(0)()) != http.StatusOK {
		t.Error("the server was restarted or is not ready")
	}
}

// TestNATSNodesStop stops one NATS node after the other during conversations. A cluster of three continues with two.
func TestNATSNodesStop(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2)
	ctx, cancel := context.WithTimeout(t.Context(), waitLimit)
	defer cancel()
	talks := r.startTalkers(ctx, t, 10, r.anywhere, answer{})
	for node := range 3 {
		pause(ctx, time.Second)
		r.StopNATS(node)
		pause(ctx, time.Second)
		must.Succeed(t, r.StartNATS(node))
		must.Succeed(t, r.AwaitNATS(ctx))
	}
	if took := talks.end(); took > settle {
		t.Errorf("everything was answered %v after the last fault", took)
	}
	t.Logf("%d questions, %d answers restarted", talks.questions, talks.resets)
	if talks.resets > 0 {
		t.Errorf("%d answers were restarted", talks.resets)
	}
}
