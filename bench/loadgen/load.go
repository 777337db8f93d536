package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	tsumugi "github.com/tsumugi-ai/tsumugi/clients/go"
)

// load is one run of a scenario.
type load struct {
	options
	client     *tsumugi.Client
	skill      tsumugi.Skill // Skill of the chats.
	progress   io.Writer
	began      time.Time
	stats      stats
	probe      *probe
	report     report
	connecting chan struct{} // A semaphore for connecting clients.
	clients    sync.WaitGroup

	mu       sync.Mutex
	noted    error  // Guarded by mu. The first failure of a client.
	doing    string // Guarded by mu.
	measured []sample
}

// atOnce is the maximum number of clients that connect at the same time. The scenario drop tests the reconnection of
// all clients.
const atOnce = 256

func newLoad(o options, client *tsumugi.Client, progress io.Writer) *load {
	return &load{
		options: o, client: client, progress: progress, began: time.Now(), probe: newProbe(o, client.URL),
		connecting: make(chan struct{}, atOnce), report: report{Began: time.Now().UTC().Format(time.RFC3339)},
	}
}

// note stores the first failure of a client, for the report of a failed run.
func (l *load) note(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.noted == nil {
		l.noted = err
	}
}

// say prints the current step.
func (l *load) say(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.doing = fmt.Sprintf(format, args...)
}

// asked is an answer in progress.
type asked struct {
	thread, message string
	stored          string // Hash of the stored text, set when the answer is complete.
}

// script returns a question that the model answers with numbered tokens.
func script(tokens int, perSecond float64, thinkMS int) string {
	return fmt.Sprintf(`今週の予定を教えてください。@script {"numbered": %d, "tokens_per_second": %g, "first_token_ms": %d}`,
		tokens, perSecond, thinkMS)
}

// ask asks a question in a new thread.
func (l *load) ask(ctx context.Context, question string) (*asked, error) {
	// The title prevents the server from requesting one from the model.
	thread, err := l.client.NewThread(ctx, l.skill.ID, "計測")
	if err != nil {
		return nil, err
	}
	exchange, err := l.client.Post(ctx, tsumugi.Question{ThreadID: thread.ID, Content: question})
	return &asked{thread: thread.ID, message: exchange.Answer.ID}, err
}

// askAll asks the same question n times, several at a time.
func (l *load) askAll(ctx context.Context, question string, n int) ([]*asked, error) {
	l.say("asking")
	all, failed := make([]*asked, n), make([]error, n)
	var next atomic.Int64
	var workers sync.WaitGroup
	for range 8 {
		workers.Go(func() {
			for i := int(next.Add(1)) - 1; i < n && ctx.Err() == nil; i = int(next.Add(1)) - 1 {
				all[i], failed[i] = l.ask(ctx, question)
			}
		})
	}
	workers.Wait()
	return all, errors.Join(append(failed, ctx.Err())...)
}

// watchAll distributes clients over the answers.
func (l *load) watchAll(ctx context.Context, answers []*asked, every time.Duration, once bool) []*watch {
	all := make([]*watch, l.streams)
	for i := range all {
		all[i] = newWatch(l, answers[i%len(answers)], every)
		all[i].once = once
		l.clients.Go(func() { all[i].run(ctx) })
	}
	return all
}

// until waits until done returns true. It returns an error after the time limit.
func (l *load) until(ctx context.Context, limit time.Duration, what string, done func() bool) error {
	l.say("%s", what)
	for end := time.Now().Add(limit); !done(); {
		if time.Now().After(end) {
			l.mu.Lock()
			defer l.mu.Unlock()
			return errors.Join(fmt.Errorf("%s: not within %s", what, limit), l.noted)
		}
		if err := sleep(ctx, 10*time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}

// attached waits until all clients are connected.
func (l *load) attached(ctx context.Context) error {
	return l.until(ctx, 2*time.Minute, "connecting", func() bool { return l.stats.attached.Load() >= int64(l.streams) })
}

// settle waits until all clients have the whole text, and compares it with the stored one. After limit, it ends the
// other clients with cancel.
func (l *load) settle(ctx context.Context, cancel context.CancelFunc, limit time.Duration, clients []*watch) error {
	l.say("waiting for the ends")
	over := make(chan struct{})
	go func() {
		l.clients.Wait()
		close(over)
	}()
	var late error
	select {
	case <-over:
	case <-ctx.Done():
		late = ctx.Err()
	case <-time.After(limit):
		late = fmt.Errorf("some clients have no end after %s", limit)
	}
	cancel()
	<-over
	l.say("comparing")
	return errors.Join(late, l.compare(context.WithoutCancel(ctx), clients))
}

// compare counts the clients whose text equals the stored one, and those whose text differs.
func (l *load) compare(ctx context.Context, clients []*watch) error {
	for _, w := range clients {
		if w.status != 0 {
			continue // The client was refused and has no text.
		}
		if w.asked.stored == "" {
			var err error
			if w.asked.stored, err = l.stored(ctx, w.asked); err != nil {
				return err
			}
		}
		if w.done && w.sum() == w.asked.stored {
			l.stats.right.Add(1)
		} else {
			l.stats.wrong.Add(1)
		}
	}
	return nil
}

// stored returns the hash of an answer's stored text.
func (l *load) stored(ctx context.Context, a *asked) (string, error) {
	messages, err := l.client.Messages(ctx, a.thread)
	if err != nil {
		return "", err
	}
	for _, m := range messages {
		if m.ID == a.message {
			return fmt.Sprintf("%x", sha256.Sum256([]byte(m.Content))), nil
		}
	}
	return "", fmt.Errorf("answer %s is not there", a.message)
}
