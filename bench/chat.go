package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/bench/wire"
)

// alone is the name of measurements that ask the model directly.
const alone = "the model alone"

// Rows of the sections.
const (
	rowOne     = "1 chat, p%d ms"
	rowFurther = "1 chat, a further question in its thread, p%d ms"
	rowThought = "1 chat, a model that takes 30 ms, p%d ms"
	rowAfter   = "1 chat, between loads, p%d ms"
	rowDisk    = "the disk: a page is written, p%d ms"
	rowMany    = "%d chats, p%d ms"
	rowAtOnce  = "200 questions in the same moment, p%d ms"

	rowDelta  = "%d chats: delta p%d ms"
	rowCPU    = "%d chats: server µs CPU a token"
	rowAll    = "%d chats: server and database µs CPU a token"
	rowFast   = "200 chats, as fast as possible: server and database µs CPU a token"
	rowMost   = "200 chats, as fast as possible: thousand tokens/s"
	rowStream = "1000 chats: KiB a stream"
	rowTexts  = "answers whose text differs"
	rowBusy   = "questions that got no answer: too busy"
)

// Lengths of the section's answers, in tokens.
const (
	tokensPerSecond = 50
	answerTokens    = 300
)

// addedTable returns the table of the time that systems add before the first token.
func addedTable(of string) *table {
	return newTable("Added to the time to the first token: "+of,
		"From sending the question to reading the first text of the answer, less the same quantile of asking the "+
			"model directly. The model answers at once unless a row says otherwise, so that nothing of a server's "+
			"work hides behind it.",
		"", alone, ours, lean, naive, aiSDK)
}

// measureOne measures a single chat, before anything else has loaded the machine.
func measureOne(ctx context.Context, b *bench) error {
	first := addedTable("one chat")
	first.Method += " An answer of tsumugi begins with a commit, which takes at least as long as fdatasync of one page."
	b.report.Sections = append(b.report.Sections, first)
	if err := b.chatRounds(ctx, "One chat", 2*b.rounds, first, nil, (*chatRound).one); err != nil {
		return err
	}
	first.subtract(alone)
	b.report.atMostMedian("added to the first token: 1 chat, p50", first, fmt.Sprintf(rowOne, 50), ours, 1.5, 2, " ms")
	b.report.atMostMedian("added to the first token: 1 chat, p99", first, fmt.Sprintf(rowOne, 99), ours, 4, 2, " ms")
	return nil
}

// measureChat asks the model in many chats through each system, and directly.
func measureChat(ctx context.Context, b *bench) error {
	first := addedTable("many chats")
	t := newTable("From the provider to the client",
		fmt.Sprintf("Answers of %d tokens of Japanese, at %d tokens/s unless said; 200 chats begin within "+
			"one second, 1,000 within two. The delay of a delta is the time from when the model had to send it "+
			"until the client has read it. Memory is that of the server without the database. In brackets the "+
			"ratio to %s, which has no database.", answerTokens, tokensPerSecond, naive),
		naive, ours, lean, naive, aiSDK, alone)
	b.report.Sections = append(b.report.Sections, first, t)
	parts := []chatPart{(*chatRound).few, (*chatRound).thousand}
	if b.quick {
		parts = parts[:1]
	}
	if err := b.chatRounds(ctx, "Many chats", b.rounds, first, t, parts...); err != nil {
		return err
	}
	first.subtract(alone)
	b.chatGoals(first, t)
	return nil
}

// chatRounds measures parts of each system, alternating between the systems. t may be nil if only the time to the first
// token is measured.
func (b *bench) chatRounds(ctx context.Context, what string, rounds int, first, t *table, parts ...chatPart) error {
	if err := b.nodeVersions(ctx); err != nil {
		return err
	}
	for round := range rounds {
		for _, name := range first.Columns {
			b.say("%s, %s, round %d of %d", what, name, round+1, rounds)
			m := chatRound{bench: b, first: first, table: t, name: name}
			if err := m.run(ctx, parts); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	return nil
}

// nodeVersions records the versions of the peer on Node.
func (b *bench) nodeVersions(ctx context.Context) error {
	version, err := exec.CommandContext(ctx, "node", "--version").Output()
	if err != nil {
		return err
	}
	text, err := os.ReadFile(filepath.Join(b.aisdk, "node_modules", "ai", "package.json"))
	if err != nil {
		return err
	}
	var sdk struct{ Version string }
	if err := json.Unmarshal(text, &sdk); err != nil {
		return err
	}
	b.report.Machine.Versions["Node.js"] = strings.TrimPrefix(strings.TrimSpace(string(version)), "v")
	b.report.Machine.Versions["AI SDK"] = sdk.Version
	return nil
}

func (b *bench) chatGoals(first, t *table) {
	r := &b.report
	added := func(chats, percent int, limit float64) {
		r.atMostMedian(fmt.Sprintf("added to the first token: %d chats, p%d", chats, percent),
			first, fmt.Sprintf(rowMany, chats, percent), ours, limit, 1, " ms")
	}
	added(200, 99, 20)
	added(1000, 50, 100)
	added(1000, 99, 500)
	r.atMostMedian("delta: 200 chats, p99", t, fmt.Sprintf(rowDelta, 200, 99), ours, 5, 1, " ms")
	r.atMostTimes("delta: 1000 chats, p99", t, fmt.Sprintf(rowDelta, 1000, 99), ours, naive, 2, 1)
	most := t.median(rowMost, ours)
	r.atLeast("tokens/s at most, × "+naive, most/t.median(rowMost, naive), 1.3, 2, "×")
	r.atLeast("tokens/s at most, × "+aiSDK, most/t.median(rowMost, aiSDK), 10, 1, "×")
	for _, limit := range []struct {
		chats int
		times float64
	}{{200, 2.2}, {1000, 1.6}} {
		what, row := fmt.Sprintf("CPU a token with the database, %d chats", limit.chats), fmt.Sprintf(rowAll, limit.chats)
		r.atMostTimes(what, t, row, ours, naive, limit.times, 2)
		r.atMostTimes(what, t, row, ours, aiSDK, 0.5, 2)
	}
	r.atMostTimes("memory a stream at 1000 chats", t, rowStream, ours, naive, 1.3, 2)
	r.atMost("chats: answers whose text differs", t.worst(rowTexts, ours), 0, 0, "")
	r.atMost("chats: questions that got no answer", t.worst(rowBusy, ours), 0, 0, "")
}

// chatSystem is a system that answers questions, and the model behind it.
type chatSystem struct {
	model   *process
	server  *process // Nil for the model alone.
	address string
	mark    string // Bytes before an event's text.
	stop    func()

	// requests returns n requests with the same question. If the system has threads, it distributes them over the given
	// number of new threads; 0 means one for each request.
	requests func(ctx context.Context, question string, n, threads int) ([][]byte, error)
}

// startChat starts a new process of a system.
func startChat(ctx context.Context, b *bench, name string) (*chatSystem, error) {
	if name == ours {
		return startProductChat(ctx, b)
	}
	model, modelURL, err := startModel(ctx, b)
	if err != nil {
		return nil, err
	}
	c := &chatSystem{model: model, mark: deltaMark, stop: model.stop}
	path := "/"
	switch name {
	case alone:
		c.address, path, c.mark = hostOf(modelURL), "/v1/chat/completions", contentMark
	case aiSDK:
		c.server, c.address, err = startNode(ctx, b, modelURL)
	default:
		var s *system
		if s, err = startSystem(ctx, b, spec{Name: name, Provider: modelURL}, 0); err == nil {
			c.server, c.address = s.process, s.address
		}
	}
	if err != nil {
		model.stop()
		return nil, err
	}
	if c.server != nil {
		c.stop = func() {
			c.server.stop()
			model.stop()
		}
	}
	c.requests = func(_ context.Context, question string, n, _ int) ([][]byte, error) {
		var body any = prompt{question}
		if name == alone {
			body = map[string]any{"model": "m", "stream": true, "messages": []map[string]string{
				{"role": "system", "content": systemPrompt}, {"role": "user", "content": question},
			}}
		}
		text, err := json.Marshal(body)
		requests := make([][]byte, n)
		for i := range requests {
			requests[i] = wire.Post(c.address, path, "", text)
		}
		return requests, err
	}
	return c, nil
}

// startProductChat starts the real server with its database. Every question is authenticated and asked in a new thread.
func startProductChat(ctx context.Context, b *bench) (*chatSystem, error) {
	p, err := startProduct(ctx, b)
	if err != nil {
		return nil, err
	}
	return productChat(p), nil
}

// productChat returns a started server as a system.
func productChat(p *product) *chatSystem {
	c := &chatSystem{model: p.model, server: p.server, address: hostOf(p.url), mark: deltaMark, stop: p.stop}
	c.requests = func(ctx context.Context, question string, n, count int) ([][]byte, error) {
		threads, err := p.threads(ctx, cmp.Or(count, n))
		if err != nil {
			return nil, err
		}
		token, err := p.client.Token(ctx, false)
		if err != nil {
			return nil, err
		}
		requests := make([][]byte, n)
		for i := range requests {
			text, err := json.Marshal(map[string]string{
				"request_id": uuid.NewString(), "thread_id": threads[i%len(threads)], "content": question,
			})
			if err != nil {
				return nil, err
			}
			requests[i] = wire.Post(c.address, "/v1/message/stream", token, text)
		}
		return requests, nil
	}
	return c
}

// chatRound measures one system once.
type chatRound struct {
	bench *bench
	first *table
	table *table
	name  string

	wrong, refused int
}

// chatPart is a part of the measurement. A system is started once for each part.
type chatPart func(*chatRound, context.Context, *chatSystem) error

func (m *chatRound) run(ctx context.Context, parts []chatPart) error {
	for _, part := range parts {
		c, err := startChat(ctx, m.bench, m.name)
		if err != nil {
			return err
		}
		err = errors.Join(m.warm(ctx, c), part(m, ctx, c))
		c.stop()
		if err != nil {
			return err
		}
	}
	switch {
	case m.table == nil && m.wrong+m.refused > 0: // A single chat cannot overload a system, so this is an error.
		return fmt.Errorf("%d texts differ, %d questions got no answer", m.wrong, m.refused)
	case m.table != nil && m.name != alone:
		m.table.add(rowTexts, m.name, 0, float64(m.wrong))
		m.table.add(rowBusy, m.name, 0, float64(m.refused))
	}
	return nil
}

// script returns a question that the model answers with n tokens, after a delay, at a rate. Rate 0 means as fast as
// possible.
func script(tokens, thinkMS, perSecond int) string {
	if perSecond == 0 {
		perSecond = -1
	}
	return fmt.Sprintf(`今週の予定を教えてください。@script {"numbered": %d, "first_token_ms": %d, "tokens_per_second": %d}`,
		tokens, thinkMS, perSecond)
}

// warm brings connections, query plans, heap and compiled code into the state of a server that has run for a while.
func (m *chatRound) warm(ctx context.Context, c *chatSystem) error {
	_, err := m.load(ctx, c, chatLoad{chats: 32, answers: 320, threads: 160, tokens: 50})
	return err
}

// one measures one chat.
func (m *chatRound) one(ctx context.Context, c *chatSystem) error {
	if m.name == ours {
		if err := m.disk(); err != nil {
			return err
		}
	}
	return errors.Join(
		m.ask(ctx, c, rowOne, 200, chatLoad{}),
		m.ask(ctx, c, rowFurther, 40, chatLoad{threads: 1}),
		m.ask(ctx, c, rowThought, 40, chatLoad{thinkMS: 30}),
	)
}

// disk measures how long the disk takes to write a page of the write-ahead log, with pauses as between questions.
func (m *chatRound) disk() error {
	f, err := os.Create(filepath.Join(m.bench.dir, "page"))
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	page := make([]byte, 8<<10)
	took := make([]float64, 200)
	for i := range took {
		if _, err := f.WriteAt(page, 0); err != nil {
			return err
		}
		began := time.Now()
		if err := syscall.Fdatasync(int(f.Fd())); err != nil {
			return err
		}
		took[i] = float64(time.Since(began)) / float64(time.Millisecond)
		time.Sleep(5 * time.Millisecond)
	}
	for _, q := range []int{50, 99} {
		m.first.add(fmt.Sprintf(rowDisk, q), m.name, 2, quantile(took, float64(q)/100))
	}
	return nil
}

// ask asks n questions in one chat, or fewer in a quick run.
func (m *chatRound) ask(ctx context.Context, c *chatSystem, row string, questions int, l chatLoad) error {
	if m.bench.quick {
		questions /= 4
	}
	l.chats, l.answers, l.tokens, l.perSecond = 1, questions, 4, 1000
	r, err := m.load(ctx, c, l)
	if err != nil {
		return err
	}
	m.quantiles(row, r)
	return nil
}

// few measures 200 chats, and a single one between the loads.
func (m *chatRound) few(ctx context.Context, c *chatSystem) error {
	if err := errors.Join(m.ask(ctx, c, rowAfter, 200, chatLoad{}), m.paced(ctx, c, 200, time.Second)); err != nil {
		return err
	}
	r, err := m.load(ctx, c, chatLoad{chats: 200, answers: 200, tokens: 25, perSecond: tokensPerSecond})
	if err != nil {
		return err
	}
	m.quantiles(rowAtOnce, r)
	if m.name == alone {
		return nil
	}
	lasting := 2 * time.Second
	if m.bench.quick {
		lasting = time.Second / 2
	}
	if r, err = m.load(ctx, c, chatLoad{chats: 200, answers: 2000, tokens: answerTokens, lasting: lasting}); err != nil {
		return err
	}
	_, all := r.perToken()
	m.table.add(rowFast, m.name, 2, all)
	m.table.add(rowMost, m.name, 1, float64(r.tokens)/r.took.Seconds()/1000)
	return nil
}

// quantiles records the times to the first token.
func (m *chatRound) quantiles(row string, r chatResult) {
	for _, q := range []int{50, 99} {
		m.first.add(fmt.Sprintf(row, q), m.name, 2, quantile(r.first, float64(q)/100))
	}
}

// thousand measures 1,000 chats, and a single one between the loads.
func (m *chatRound) thousand(ctx context.Context, c *chatSystem) error {
	return errors.Join(m.ask(ctx, c, rowAfter, 200, chatLoad{}), m.paced(ctx, c, 1000, 2*time.Second))
}

// paced measures chats with a model of realistic speed. The chats begin at even intervals within ramp, which is shorter
// than an answer.
func (m *chatRound) paced(ctx context.Context, c *chatSystem, chats int, ramp time.Duration) error {
	tokens := answerTokens
	if m.bench.quick {
		tokens, ramp = tokens/4, ramp/2
	}
	r, err := m.load(ctx, c, chatLoad{
		chats: chats, answers: chats, tokens: tokens, perSecond: tokensPerSecond,
		ramp: ramp,
	})
	if err != nil {
		return err
	}
	for _, q := range []int{50, 99} {
		share := float64(q) / 100
		m.first.add(fmt.Sprintf(rowMany, chats, q), m.name, 2, quantile(r.first, share))
		m.table.add(fmt.Sprintf(rowDelta, chats, q), m.name, 2, quantile(r.lags, share))
	}
	if m.name == alone {
		return nil
	}
	server, all := r.perToken()
	m.table.add(fmt.Sprintf(rowCPU, chats), m.name, 1, server)
	m.table.add(fmt.Sprintf(rowAll, chats), m.name, 1, all)
	if chats == 1000 {
		m.table.add(rowStream, m.name, 0, r.used.grown/float64(len(r.first))) // Per answered chat.
	}
	return nil
}
