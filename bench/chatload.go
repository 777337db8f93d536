package main

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tsumugi-ai/tsumugi/bench/wire"
)

// chatLoad describes a load of chats that ask a system.
type chatLoad struct {
	chats     int
	answers   int // Total of all chats.
	tokens    int // Tokens per answer.
	thinkMS   int
	threads   int           // Number of threads for the questions; 0 means one for each question.
	perSecond int           // Tokens of an answer per second; 0 means as fast as possible.
	ramp      time.Duration // Period over which the starts of the chats are spread evenly.
	lasting   time.Duration // Time after which no more questions are asked; 0 means until all are answered.
}

// chatResult is the result of a load.
type chatResult struct {
	first  []float64 // Milliseconds to the first text of each answer.
	lags   []float64 // Milliseconds from each token's due time to its arrival.
	tokens int
	took   time.Duration
	used   resources
}

// resources is the usage of a server during a load.
type resources struct {
	server   time.Duration // CPU time of the server.
	database time.Duration // CPU time of the database.
	grown    float64       // Maximum growth of the server's memory in KiB.
}

// perToken returns the CPU time per token, in µs: that of the server, and that of the server and its database.
func (r chatResult) perToken() (server, all float64) {
	n := float64(r.tokens)
	return float64(r.used.server.Microseconds()) / n, float64((r.used.server + r.used.database).Microseconds()) / n
}

// load asks until all questions are answered or l.lasting has elapsed. It counts answers that differ from the expected
// text.
func (m *chatRound) load(ctx context.Context, c *chatSystem, l chatLoad) (chatResult, error) {
	requests, err := c.requests(ctx, script(l.tokens, l.thinkMS, l.perSecond), l.answers, l.threads)
	if err != nil {
		return chatResult{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, 5*waitTimeout) // Long, because one of the systems has long queues.
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
	w.result.used, err = observed.end()
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

// chat asks questions one after the other, starting at begin.
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

// ask sends a question and reads the whole answer. It connects before it starts the clock, because a browser has an
// open connection too.
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

// observation measures the resources of a server between observe and end.
type observation struct {
	of      *process
	before  resources
	memory  float64
	most    float64 // Maximum in KiB. Owned by the sampling goroutine until done is closed.
	stop    chan struct{}
	done    chan struct{}
	failure error
}

// observe starts sampling a server's memory. The resources of a nil server are 0.
func observe(server *process) (*observation, error) {
	o := &observation{of: server}
	if server == nil {
		return o, nil
	}
	var err error
	if o.memory, err = server.memory(); err == nil {
		o.before, err = o.cpu()
	}
	o.most, o.stop, o.done = o.memory, make(chan struct{}), make(chan struct{})
	go o.watch()
	return o, err
}

func (o *observation) cpu() (resources, error) {
	server, err1 := o.of.cpu()
	database, err2 := o.of.childrenCPU()
	return resources{server: server, database: database}, errors.Join(err1, err2)
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

// end returns the resources used since observe.
func (o *observation) end() (resources, error) {
	if o.of == nil {
		return resources{}, nil
	}
	close(o.stop)
	<-o.done
	after, err := o.cpu()
	return resources{
		server: after.server - o.before.server, database: after.database - o.before.database, grown: o.most - o.memory,
	}, errors.Join(err, o.failure)
}
