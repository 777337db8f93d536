package main

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"time"
)

// mixedTokens is the length of an answer, in tokens.
const mixedTokens = 150

// mixed simulates the usual activities of people for the duration of the run, and checks that the server's memory and
// number of goroutines do not grow.
func mixed(ctx context.Context, l *load) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	l.say("chatting")
	end := time.Now().Add(l.duration)
	var all sync.WaitGroup
	var mu sync.Mutex
	var failed []error
	turns := 0
	for i := range l.chats {
		all.Go(func() {
			// The starts are staggered, so that the chats are not in step.
			err := sleep(ctx, 3*time.Second*time.Duration(i)/time.Duration(l.chats))
			for err == nil && time.Now().Before(end) {
				if err = l.turn(ctx); err == nil {
					mu.Lock()
					turns++
					mu.Unlock()
				}
			}
			if err != nil {
				mu.Lock()
				defer mu.Unlock()
				failed = append(failed, err)
				cancel()
			}
		})
	}
	all.Wait()
	l.report.add("questions", float64(turns))
	l.mu.Lock()
	defer l.mu.Unlock()
	l.flat("memory of the server, MB", 20, func(s sample) float64 { return s.memory })
	l.flat("goroutines of the server", 100, func(s sample) float64 { return s.goroutines })
	return errors.Join(failed...)
}

// turn is a question and a person's activity while it is answered.
func (l *load) turn(ctx context.Context) error {
	a, err := l.ask(ctx, script(mixedTokens, l.rate, rand.IntN(200))) //nolint:gosec // The random number varies the load.
	if err != nil {
		return err
	}
	every := time.Duration(float64(time.Second) / l.rate)
	length := mixedTokens * every
	tabs := []*watch{newWatch(l, a, every), newWatch(l, a, every)}
	var watching sync.WaitGroup
	for i, tab := range tabs {
		watching.Go(func() {
			if sleep(ctx, length*time.Duration(i)/4) == nil {
				tab.run(ctx)
			}
		})
	}
	dice := rand.IntN(8)             //nolint:gosec // See above.
	err = sleep(ctx, rand.N(length)) //nolint:gosec // See above.
	switch {
	case err != nil:
	case dice < 2:
		tabs[0].cut()
	case dice == 2:
		err = l.client.Stop(ctx, a.message)
	default:
		err = errors.Join(
			l.client.Call(ctx, http.MethodGet, "/v1/thread", nil, nil),
			l.client.Call(ctx, http.MethodGet, "/v1/message?thread_id="+a.thread, nil, nil))
	}
	watching.Wait()
	if err = errors.Join(err, ctx.Err()); err != nil {
		return err
	}
	if err = l.compare(ctx, tabs); err != nil || dice == 7 {
		return err
	}
	return l.client.Call(ctx, http.MethodDelete, "/v1/thread/"+a.thread, nil, nil)
}

// flat checks that a quantity in the last quarter of the time does not exceed that in the second quarter by more than
// allowance. The first quarter is for warming up. The caller must hold mu.
func (l *load) flat(name string, allowance float64, of func(sample) float64) {
	n := len(l.measured)
	median := func(samples []sample) float64 {
		values := make([]float64, len(samples))
		for i, s := range samples {
			values[i] = of(s)
		}
		slices.Sort(values)
		return values[len(values)/2]
	}
	if n < 8 || of(l.measured[0]) == 0 {
		return // The run was too short, or the quantity is not available.
	}
	early, late := median(l.measured[n/4:n/2]), median(l.measured[n*3/4:])
	l.report.add(name+", second quarter", early)
	l.report.add(name+", last quarter", late)
	if late > early*1.2+allowance {
		l.report.fail("%s has grown from %.0f to %.0f", name, early, late)
	}
}
