package main

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tsumugi-ai/tsumugi/bench/wire"
)

// chatLoad is a number of chats that ask a system.
type chatLoad struct {
	chats     int
	answers   int // All chats together.
	tokens    int // Of an answer.
	thinkMS   int
	oneThread bool          // Every question goes to one thread instead of a new one.
	perSecond int           // Tokens of an answer; 0 is as fast as possible.
	ramp      time.Duration // The chats begin evenly within it.
	lasting   time.Duration // Questions stop afterwards; 0 is until all are answered.
}

// chatResult is the result of a load.
type chatResult struct {
	first  []float64 // Milliseconds to the first text of each answer.
	lags   []float64 // Milliseconds of each token, from its due time.
	tokens int
	took   time.Duration
	cpu    time.Duration // Of the server.
	grown  float64       // Maximum growth of the server's memory in KiB.
}

// perToken returns the server's CPU time in µs a token.
func (r chatResult) perToken() float64 { return float64(r.cpu.Microseconds()) / float64(r.tokens) }

// load asks until all questions are answered or the time is over. It counts answers that differ.
func (m *chatRound) load(ctx context.Context, c *chatSystem, l chatLoad) (chatResult, error) {
	requests, err := c.requests(ctx, script(l.tokens, l.thinkMS, l.perSecond), l.answers, l.oneThread)
	if err != nil {
		return chatResult{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, 5*waitTimeout) // One of the systems has long queues.
	defer cancel()
	w := &chatWork{system: c, load: l, requests: requests}
	observed, err := observe(c.server)
	if err != nil {
		return chatResult{}, err
	}
	w.began = time.Now()
	var all sync.WaitGroup
	for i := range l.chats {
		all.Go(func() { w.chat(ctx, w.began.Add(l.ramp*time.Duration(i)/time.Duration(l.chats))) })
	}
	all.Wait()
	w.result.took = time.Since(w.began)
	w.result.cpu, w.result.grown, err = observed.end()
	m.wrong += w.wrong
	m.refused += w.refused
	if w.refused > 0 {
		m.bench.say("%d questions got no answer: %.200s", w.refused, w.refusal.Error())
	}
	if len(w.result.first) == 0 {
		return w.result, w.refusal
	}
	return w.result, err
}

// chatWork is a running load.
type chatWork struct {
	system   *chatSystem
	load     chatLoad
	requests [][]byte
	began    time.Time
	next     atomic.Int64 // The next request.

	mu      sync.Mutex
	result  chatResult // Guarded by mu.
	wrong   int        // Guarded by mu.
	refused int        // Guarded by mu. Unanswered questions.
	refusal error      // Guarded by mu. The last reason.
}

// chat asks one question after the other, from its start time on.
func (w *chatWork) chat(ctx context.Context, begin time.Time) {
	timer := time.NewTimer(time.Until(begin))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		return
	}
	for l := w.load; l.lasting == 0 || time.Since(w.began) < l.lasting; {
		i := int(w.next.Add(1)) - 1
		if i >= len(w.requests) {
			return
		}
		w.ask(ctx, w.requests[i])
	}
}

// ask asks and reads the answer to its end. The connection is established before the clock starts, like a browser's.
func (w *chatWork) ask(ctx context.Context, request []byte) {
	var every time.Duration
	if w.load.perSecond > 0 {
		every = time.Second / time.Duration(w.load.perSecond)
	}
	r := newAnswerReader(w.system.mark, w.load.tokens, every)
	conn, err := wire.Dial(ctx, w.system.address, nil)
	var asked time.Time
	if err == nil {
		defer func() { _ = conn.Close() }()
		asked = time.Now()
		if _, err = conn.Write(request); err == nil {
			err = wire.Follow(ctx, conn, wire.SmallBuffer, nil, r)
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if err != nil {
		w.refused++
		w.refusal = err
		return
	}
	if !r.right() {
		w.wrong++
	}
	w.result.first = append(w.result.first, float64(r.first.Sub(asked).Microseconds())/1000)
	w.result.lags = append(w.result.lags, r.lags...)
	w.result.tokens += w.load.tokens
}

// observation measures a server's resources from its start on.
type observation struct {
	of      *process
	cpu     time.Duration
	memory  float64
	most    float64 // KiB. Belongs to the sampling goroutine until done is closed.
	stop    chan struct{}
	done    chan struct{}
	failure error
}

// observe starts sampling a server's memory. A nil server uses nothing.
func observe(server *process) (*observation, error) {
	o := &observation{of: server}
	if server == nil {
		return o, nil
	}
	var err1, err2 error
	o.cpu, err1 = server.cpu()
	o.memory, err2 = server.memory()
	o.most, o.stop, o.done = o.memory, make(chan struct{}), make(chan struct{})
	go o.watch()
	return o, errors.Join(err1, err2)
}

func (o *observation) watch() {
	defer close(o.done)
	ticker := time.NewTicker(200 * time.Millisecond)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			now, err := o.of.memory()
			o.most, o.failure = max(o.most, now), errors.Join(o.failure, err)
		case <-o.stop:
			return
		}
	}
}

// end returns the CPU time and the greatest growth in KiB since.
func (o *observation) end() (cpu time.Duration, grown float64, err error) {
	if o.of == nil {
		return 0, 0, nil
	}
	close(o.stop)
	<-o.done
	after, err := o.of.cpu()
	return after - o.cpu, o.most - o.memory, errors.Join(err, o.failure)
}
