package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/google/uuid"
)

// Columns and rows of the section.
const (
	colDirect = "the model alone"
	colServer = "through tsumugi"
	colAdded  = "added"

	rowOne     = "1 chat, p%d ms"
	rowThought = "1 chat, a model that takes 30 ms, p%d ms"
	rowMany    = "200 chats, p%d ms"
	rowAtOnce  = "200 questions in the same moment, p%d ms"
	rowCPU     = "200 chats: server µs CPU a token, database apart"
)

// chats is how many talk at once, the answers' length and pace in the section.
const chats = 200

// measureFirstToken asks the model through the server, signed in and in fresh threads, and directly.
func measureFirstToken(ctx context.Context, b *bench) error {
	t := newTable("Time to the first token",
		"From sending the question to reading the first text of the answer. The model answers at once unless a row says "+
			"otherwise, so that nothing of the server's work hides behind it; answers come at 50 tokens/s. Every question is "+
			"signed in, in a new thread, and stored durably before its answer is shown. Added is the difference of the "+
			"quantiles.",
		"", colDirect, colServer, colAdded)
	b.report.Sections = append(b.report.Sections, t)
	p, err := startProduct(ctx, b)
	if err != nil {
		return err
	}
	defer p.stop()
	f := &firstToken{bench: b, table: t, product: p}
	for round := range b.rounds {
		b.say("First token, round %d of %d: one chat", round+1, b.rounds)
		if err := f.one(ctx); err != nil {
			return err
		}
		b.say("First token, round %d of %d: 200 chats", round+1, b.rounds)
		if err := f.many(ctx); err != nil {
			return err
		}
	}
	r := &b.report
	r.atMost("added to the first token: 1 chat, p50", t.median(fmt.Sprintf(rowOne, 50), colAdded), 2, 2, " ms")
	r.atMost("added to the first token: 1 chat, p99", t.median(fmt.Sprintf(rowOne, 99), colAdded), 8, 2, " ms")
	r.atMost("added to the first token: 200 chats, p99", t.median(fmt.Sprintf(rowMany, 99), colAdded), 50, 1, " ms")
	return nil
}

type firstToken struct {
	bench   *bench
	table   *table
	product *product
}

// asking is a way to ask: the request for a new question, and what stands before the first text of the answer.
type asking struct {
	column string
	marker string
	make   func(ctx context.Context, directive string) (*http.Request, error)
}

func (f *firstToken) ways() []asking {
	p := f.product
	return []asking{
		{colDirect, `"delta":{"content":"`, func(ctx context.Context, directive string) (*http.Request, error) {
			body, err := json.Marshal(map[string]any{"model": "m", "stream": true, "messages": []map[string]string{
				{"role": "system", "content": "あなたは日本の職場で働く人を助けるアシスタントです。"}, {"role": "user", "content": directive},
			}})
			if err != nil {
				return nil, err
			}
			req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.modelURL+"/chat/completions", bytes.NewReader(body))
			if err == nil {
				req.Header.Set("Content-Type", "application/json")
			}
			return req, err
		}},
		{colServer, `"type":"text-delta"`, func(ctx context.Context, directive string) (*http.Request, error) {
			thread, err := p.thread(ctx)
			if err != nil {
				return nil, err
			}
			return p.request(ctx, http.MethodPost, "/v1/message/stream", nil,
				map[string]string{"request_id": uuid.NewString(), "thread_id": thread, "content": directive})
		}},
	}
}

// script is a question that the model answers with so many tokens, after a time to think, at a pace.
func script(tokens, thinkMS, perSecond int) string {
	return fmt.Sprintf(`今週の予定を教えてください。@script {"chars": %d, "first_token_ms": %d, "tokens_per_second": %d}`,
		2*tokens, thinkMS, perSecond)
}

// ask asks and reads the answer to its end. It returns the milliseconds to its first text.
func (f *firstToken) ask(req *http.Request, marker string) (float64, error) {
	began := time.Now()
	resp, err := f.product.client.Do(req)
	if err != nil {
		return 0, err
	}
	defer func() { _ = resp.Body.Close() }()
	var text []byte
	buffer := make([]byte, 16<<10)
	for {
		n, err := resp.Body.Read(buffer)
		text = append(text, buffer[:n]...)
		if bytes.Contains(text, []byte(marker)) {
			break
		}
		if err != nil {
			return 0, fmt.Errorf("no answer: %s: %s", resp.Status, text)
		}
	}
	took := float64(time.Since(began).Microseconds()) / 1000
	_, err = io.Copy(io.Discard, resp.Body)
	return took, err
}

// quantiles notes p50 and p99 of each column, and their differences.
func (f *firstToken) quantiles(row string, times map[string][]float64) {
	for _, q := range []int{50, 99} {
		name := fmt.Sprintf(row, q)
		direct, server := quantile(times[colDirect], float64(q)/100), quantile(times[colServer], float64(q)/100)
		f.table.add(name, colDirect, 2, direct)
		f.table.add(name, colServer, 2, server)
		f.table.add(name, colAdded, 2, server-direct)
	}
}

// one asks one question after the other, by turns directly and through the server.
func (f *firstToken) one(ctx context.Context) error {
	questions, thought := 200, 40
	if f.bench.quick {
		questions, thought = 100, 10
	}
	for _, kind := range []struct {
		row            string
		count, thinkMS int
	}{{rowOne, questions, 0}, {rowThought, thought, 30}} {
		times := make(map[string][]float64)
		for i := range kind.count + 10 {
			for _, way := range f.ways() {
				req, err := way.make(ctx, script(4, kind.thinkMS, 1000))
				if err != nil {
					return err
				}
				took, err := f.ask(req, way.marker)
				if err != nil {
					return err
				}
				if i >= 10 { // Connections and plans are warm.
					times[way.column] = append(times[way.column], took)
				}
			}
		}
		f.quantiles(kind.row, times)
	}
	return nil
}

// many has 200 chats at once, each asking again when its answer is complete. They begin one by one, so that questions come
// evenly as they do where many people work. Afterwards all ask in the same moment.
func (f *firstToken) many(ctx context.Context) error {
	const tokens = 150
	lasting, answer := 6*time.Second, tokens*time.Second/tokensPerSecond
	if f.bench.quick {
		lasting = 3 * time.Second
	}
	times := make(map[string][]float64)
	for _, way := range f.ways() {
		before, err := f.product.server.cpu()
		if err != nil {
			return err
		}
		load := chatLoad{first: f, way: way, tokens: tokens, ramp: answer, lasting: lasting}
		if times[way.column], err = load.run(ctx); err != nil {
			return err
		}
		after, err := f.product.server.cpu()
		if err != nil {
			return err
		}
		if way.column == colServer {
			perToken := float64((after - before).Microseconds()) / float64(load.asked*tokens)
			defer f.table.add(rowCPU, colServer, 1, perToken)
		}
	}
	f.quantiles(rowMany, times)
	times = make(map[string][]float64)
	for _, way := range f.ways() {
		var err error
		if times[way.column], err = f.atOnce(ctx, way); err != nil {
			return err
		}
	}
	f.quantiles(rowAtOnce, times)
	return nil
}

// chatLoad is many chats that go on for a while.
type chatLoad struct {
	first   *firstToken
	way     asking
	tokens  int
	ramp    time.Duration // The chats begin evenly within it.
	lasting time.Duration // Afterwards it is measured for so long.

	mu    sync.Mutex
	asked int // Guarded by mu. Questions altogether.
	times []float64
	err   error
}

func (l *chatLoad) run(ctx context.Context) ([]float64, error) {
	var all sync.WaitGroup
	began := time.Now()
	for i := range chats {
		all.Go(func() { l.chat(ctx, began, began.Add(l.ramp*time.Duration(i)/chats)) })
	}
	all.Wait()
	if l.err == nil && len(l.times) < chats/2 {
		l.err = fmt.Errorf("only %d questions were asked", len(l.times))
	}
	return l.times, l.err
}

// chat asks from its beginning until the time is over.
func (l *chatLoad) chat(ctx context.Context, began, begin time.Time) {
	timer := time.NewTimer(time.Until(begin))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
	for time.Since(began) < l.ramp+l.lasting {
		req, err := l.way.make(ctx, script(l.tokens, 0, tokensPerSecond))
		asked := time.Now()
		took := 0.0
		if err == nil {
			took, err = l.first.ask(req, l.way.marker)
		}
		l.mu.Lock()
		l.asked++
		l.err = errors.Join(l.err, err)
		if asked.After(began.Add(l.ramp)) {
			l.times = append(l.times, took)
		}
		l.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// atOnce has everybody ask in the same moment.
func (f *firstToken) atOnce(ctx context.Context, way asking) ([]float64, error) {
	requests := make([]*http.Request, chats)
	for i := range requests {
		var err error
		if requests[i], err = way.make(ctx, script(25, 0, tokensPerSecond)); err != nil {
			return nil, err
		}
	}
	times, failed := make([]float64, chats), make([]error, chats)
	start := make(chan struct{})
	var all sync.WaitGroup
	for i, req := range requests {
		all.Go(func() {
			<-start
			times[i], failed[i] = f.ask(req, way.marker)
		})
	}
	close(start)
	all.Wait()
	return times, errors.Join(failed...)
}
