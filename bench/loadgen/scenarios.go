package main

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// idle watches answers with one token in 20 s, which is enough for the model not to count as stalled.
func idle(ctx context.Context, l *load) error {
	const perSecond = 0.05
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	before := l.probe.read(ctx)
	answers, err := l.askAll(ctx, script(1000, perSecond, 0), l.answers)
	if err != nil {
		return err
	}
	clients := l.watchAll(ctx, answers, 0, false)
	if err := l.attached(ctx); err != nil {
		return err
	}
	l.say("idle")
	with := l.probe.read(ctx)
	err = sleep(ctx, l.duration)
	after := l.probe.read(ctx)
	l.report.add("memory of the server, MB", after.memory)
	l.report.add("… of which since before the clients, KiB a stream",
		(after.memory-before.memory)*1e6/1024/float64(l.streams))
	l.report.add("cores of the server, idle", (after.cpu-with.cpu)/after.at.Sub(with.at).Seconds())
	l.report.add("goroutines", after.goroutines)
	if n := l.stats.attached.Load(); n < int64(l.streams) {
		l.report.fail("%d of %d streams are left", n, l.streams)
	}
	for _, a := range answers {
		err = errors.Join(err, l.client.Stop(ctx, a.message))
	}
	return errors.Join(err, l.settle(ctx, cancel, time.Minute, clients))
}

// lead returns enough time for the clients of streams to connect to a busy server.
func lead(streams int) time.Duration { return 2*time.Second + time.Duration(streams)*time.Millisecond }

// answering holds the answers in progress and the connected clients of deliver and drop.
type answering struct {
	tokens  int           // In each answer.
	length  time.Duration // Time from the question to the end of its answer.
	clients []*watch
}

// answer asks questions, connects all clients, and returns when the first token has arrived. The model waits until all
// clients are connected.
func (l *load) answer(ctx context.Context) (*answering, error) {
	think := lead(l.streams)
	a := &answering{tokens: max(int(l.rate*l.duration.Seconds()), 2), length: think + l.duration}
	answers, err := l.askAll(ctx, script(a.tokens, l.rate, int(think.Milliseconds())), l.answers)
	if err != nil {
		return a, err
	}
	a.clients = l.watchAll(ctx, answers, time.Duration(float64(time.Second)/l.rate), false)
	if err := l.attached(ctx); err != nil {
		return a, err
	}
	if l.stats.tokens.Load() > 0 {
		l.report.fail("the clients took longer to connect than the model to think: tokens came before all were there")
	}
	return a, l.until(ctx, think+30*time.Second, "waiting for the first token",
		func() bool { return l.stats.tokens.Load() > 0 })
}

// deliver sends tokens to all clients at a rate, and measures the tokens sent after all clients have connected.
func deliver(ctx context.Context, l *load) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	a, err := l.answer(ctx)
	if err != nil {
		return err
	}
	l.say("delivering")
	before, tokensBefore := l.probe.read(ctx), l.stats.tokens.Load()
	if err := sleep(ctx, l.duration*8/10); err != nil { // Less, because answers start and end at different times.
		return err
	}
	after := l.probe.read(ctx)
	took := after.at.Sub(before.at).Seconds()
	perSecond := float64(l.stats.tokens.Load()-tokensBefore) / took
	l.report.add("deliveries a second", perSecond)
	l.report.add("cores of the server", (after.cpu-before.cpu)/took)
	l.report.add("µs of the server's CPU a delivery", (after.cpu-before.cpu)*1e6/(perSecond*took))
	l.report.add("memory of the server, MB", after.memory)
	err = l.settle(ctx, cancel, a.length+time.Minute, a.clients)
	if want := int64(a.tokens) * int64(l.streams); l.stats.reconnects.Load() == 0 && l.stats.tokens.Load() != want {
		l.report.fail("%d tokens were delivered, not %d", l.stats.tokens.Load(), want)
	}
	return err
}

// drop breaks every connection in the middle of the answers.
func drop(ctx context.Context, l *load) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	a, err := l.answer(ctx)
	if err != nil {
		return err
	}
	if err := sleep(ctx, l.duration/4); err != nil {
		return err
	}
	for _, c := range a.clients {
		c.cut()
	}
	dropped := time.Now()
	// The clients reconnect after one to three seconds, as requested by the server.
	err = l.until(ctx, time.Minute, "gone", func() bool { return l.stats.reconnects.Load() > 0 })
	err = errors.Join(err, l.until(ctx, time.Minute, "coming back",
		func() bool { return l.stats.attached.Load() >= int64(l.streams) }))
	back := time.Since(dropped)
	l.report.add("seconds until all had come back", back.Seconds())
	if back > 10*time.Second {
		l.report.fail("it took %s until all had come back, not 10 s", back.Round(time.Millisecond))
	}
	return errors.Join(err, l.settle(ctx, cancel, a.length+time.Minute, a.clients))
}

// capped connects more clients than the server admits.
func capped(ctx context.Context, l *load) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	answers, err := l.askAll(ctx, script(1000, 1, 0), 1)
	if err != nil {
		return err
	}
	clients := l.watchAll(ctx, answers, 0, true)
	err = l.until(ctx, time.Minute, "connecting", func() bool {
		return l.stats.attached.Load()+l.stats.refused.Load() >= int64(l.streams)
	})
	l.report.add("streams that were let in", float64(l.stats.attached.Load()))
	err = errors.Join(err, l.client.Stop(ctx, answers[0].message), l.settle(ctx, cancel, time.Minute, clients))
	statuses, pauses := make(map[int]int), make(map[string]int)
	for _, c := range clients {
		if c.status != 0 {
			statuses[c.status]++
			pauses[c.retryAfter]++
		}
	}
	for status, n := range statuses {
		l.report.add(fmt.Sprintf("streams that were answered %d", status), float64(n))
	}
	l.report.add("different Retry-After among them", float64(len(pauses)))
	if len(statuses) == 0 {
		l.report.fail("nobody was refused: the limit is above %d streams", l.streams)
	} else if pauses[""] > 0 || len(pauses) < 2 {
		l.report.fail("the refused are not told to come back at different times: %v", pauses)
	}
	return err
}
