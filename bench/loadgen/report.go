package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"
)

// report is the result of a run.
type report struct {
	Scenario string   `json:"scenario"`
	URL      string   `json:"url"`
	Began    string   `json:"began"`
	Figures  []figure `json:"figures"`
	Failures []string `json:"failures"` // Reasons for the failure of the run; empty if it succeeded.
}

// figure is one quantity, with the unit in its name.
type figure struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
}

func (r *report) add(name string, value float64) { r.Figures = append(r.Figures, figure{name, value}) }

// fail records a violation by the server.
func (r *report) fail(format string, args ...any) {
	r.Failures = append(r.Failures, fmt.Sprintf(format, args...))
}

func (r *report) failure() error {
	if len(r.Failures) == 0 {
		return nil
	}
	return errors.New(strings.Join(r.Failures, "; "))
}

func (r *report) write(w io.Writer) {
	_, _ = fmt.Fprintf(w, "%s at %s, %s\n\n", r.Scenario, r.URL, r.Began)
	for _, f := range r.Figures {
		_, _ = fmt.Fprintf(w, "%14.6g  %s\n", f.Value, f.Name)
	}
	for _, failure := range r.Failures {
		_, _ = fmt.Fprintf(w, "\nFAILED: %s\n", failure)
	}
}

func (r *report) save(name string) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(name, append(text, '\n'), 0o600)
}

// count adds the clients' counters.
func (l *load) count() {
	s, r := &l.stats, &l.report
	ms := func(q float64) float64 { return float64(s.lag.quantile(q).Microseconds()) / 1000 }
	if s.lag.total.Load() > 0 {
		r.add("tokens delivered when they were due", float64(s.tokens.Load()))
		for _, q := range []float64{0.5, 0.9, 0.99, 0.999} {
			r.add(fmt.Sprintf("ms from due to read, p%g", q*100), ms(q))
		}
		r.add("ms from due to read, the longest", float64(s.lag.most.Load())/1e6)
	}
	for _, f := range []figure{
		{"events with text", float64(s.events.Load())},
		{"clients whose text is the stored one, byte for byte", float64(s.right.Load())},
		{"clients whose text differs", float64(s.wrong.Load())},
		{"times that text was missing", float64(s.gaps.Load())},
		{"events of text that came twice", float64(s.repeated.Load())},
		{"resets", float64(s.resets.Load())},
		{"times that a client came back", float64(s.reconnects.Load())},
		{"streams that were refused", float64(s.refused.Load())},
		{"clients who were told that the answer failed", float64(s.failed.Load())},
		{"connections that failed", float64(s.broken.Load())},
	} {
		r.add(f.Name, f.Value)
	}
	if s.failed.Load() > 0 {
		r.fail("%d clients were told that the answer failed", s.failed.Load())
	}
	if s.wrong.Load() > 0 || s.gaps.Load() > 0 || s.repeated.Load() > 0 {
		r.fail("%d clients whose text differs, %d gaps, %d events twice", s.wrong.Load(), s.gaps.Load(),
			s.repeated.Load())
	}
}

// showProgress prints a line and stores a sample every second, until stop is called. stop waits for its goroutine.
func (l *load) showProgress(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var done sync.WaitGroup
	done.Go(func() {
		ticker := time.NewTicker(time.Second)
		defer ticker.Stop()
		last, tokens := l.probe.read(ctx), int64(0)
		for {
			select {
			case <-ticker.C:
			case <-ctx.Done():
				return
			}
			now, events := l.probe.read(ctx), l.stats.events.Load()
			cores := (now.cpu - last.cpu) / now.at.Sub(last.at).Seconds()
			l.mu.Lock()
			l.measured = append(l.measured, now)
			doing := l.doing
			l.mu.Unlock()
			_, _ = fmt.Fprintf(l.progress,
				"%5.0f s  %-22s  streams %6d  events/s %7d  p99 %6.1f ms  back %5d  gaps %d  server %4.0f MB "+
					"%.2f cores\n",
				time.Since(l.began).Seconds(), doing, l.stats.attached.Load(), events-tokens,
				float64(l.stats.lag.quantile(0.99).Microseconds())/1000, l.stats.reconnects.Load(),
				l.stats.gaps.Load()+l.stats.repeated.Load(), now.memory, cores)
			last, tokens = now, events
		}
	})
	return func() {
		cancel()
		done.Wait()
	}
}
