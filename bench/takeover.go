package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	tsumugi "github.com/tsumugi-ai/tsumugi/clients/go"
	"github.com/tsumugi-ai/tsumugi/test/cluster"
)

// Rows of the section.
const (
	rowFirstText = "first text after the kill, p50 s"
	rowLastText  = "first text after the kill, longest s"
	rowKept      = "answers continued without a reset"
	rowReset     = "answers reset"
)

// takeoverAnswers is the number of answers that the killed server is writing.
const takeoverAnswers = 40

// measureTakeover kills one of two servers while it writes answers of a model that answers at once, never repeats itself
// and can continue a text. Half of the clients are connected to each server.
func measureTakeover(ctx context.Context, b *bench) error {
	t := newTable("A server that dies",
		fmt.Sprintf("Two servers with the default lease; one is killed while it writes %d answers of 50 tokens a second. "+
			"Half of the clients are connected to each server; all use the balancer afterwards.", takeoverAnswers), "", ours)
	b.report.Sections = append(b.report.Sections, t)
	model, modelURL, err := startModel(ctx, b)
	if err != nil {
		return err
	}
	defer model.stop()
	dir := filepath.Join(b.dir, "takeover")
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // The database's account reads it.
		return err
	}
	models := filepath.Join(dir, "models.yaml")
	file := fmt.Sprintf("default: m\nproviders:\n  - {name: bench, base_url: %q, models: [{id: m, model: tsumugi-test, "+
		"name: bench, continue: continue_final_message}]}\n", modelURL)
	if err := os.WriteFile(models, []byte(file), 0o644); err != nil { //nolint:gosec // Not a secret.
		return err
	}
	for round := range b.rounds {
		b.say("A server that dies, round %d of %d", round+1, b.rounds)
		err := takeover(ctx, b, t, filepath.Join(dir, fmt.Sprint(round)), []string{
			"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "TSUMUGI_DEMO_PASSWORD=" + demoPassword,
			"TSUMUGI_LIMITS=off", "TSUMUGI_MODELS=" + models,
		})
		if err != nil {
			return err
		}
	}
	b.report.atMostMedian("first text after a server has died, p50", t, rowFirstText, ours, 4, 1, " s")
	return nil
}

// takeover measures one kill.
func takeover(ctx context.Context, b *bench, t *table, data string, environ []string) error {
	servers, err := cluster.Start(ctx, cluster.Config{
		Program: b.tsumugi, Servers: 2, Data: data, Environ: environ,
	})
	if err != nil {
		return err
	}
	defer func() { _ = servers.Stop(context.WithoutCancel(ctx)) }()
	client := func(url string) *tsumugi.Client {
		return &tsumugi.Client{URL: url, Token: tsumugi.Password(servers.URL(), demoUser, demoPassword, nil)}
	}
	asking := client(servers.Server(0).URL())
	skill, err := asking.ChatSkill(ctx)
	if err != nil {
		return err
	}
	followers := []*tsumugi.Client{client(servers.URL()), client(servers.Server(1).URL())}
	var (
		mu     sync.Mutex
		killed time.Time
		took   []float64
		resets int
		failed error
		begun  sync.WaitGroup
		ended  sync.WaitGroup
	)
	for i := range takeoverAnswers {
		answer, err := askForTakeover(ctx, asking, skill)
		if err != nil {
			return err
		}
		begun.Add(1)
		first := sync.OnceFunc(begun.Done)
		ended.Go(func() {
			defer first()
			reset, seen, chars := false, false, 0
			for event, err := range followers[i%2].Follow(answer).Events(ctx) {
				mu.Lock()
				if chars += len(event.Text); chars > 60 {
					first()
				}
				reset = reset || event.Type == "data-reset"
				if !seen && !killed.IsZero() && event.Text != "" && time.Since(killed) > time.Second {
					seen = true
					took = append(took, time.Since(killed).Seconds())
				}
				if err != nil {
					failed = err
				}
				mu.Unlock()
			}
			mu.Lock()
			defer mu.Unlock()
			if reset {
				resets++
			}
		})
	}
	begun.Wait()
	time.Sleep(2 * time.Second) // Texts are stored and sent to the other server.
	mu.Lock()
	killed = time.Now()
	mu.Unlock()
	servers.Kill(0)
	ended.Wait()
	if failed != nil {
		return failed
	}
	t.add(rowFirstText, ours, 2, quantile(took, 0.5))
	t.add(rowLastText, ours, 2, quantile(took, 1))
	t.add(rowKept, ours, 0, float64(takeoverAnswers-resets))
	t.add(rowReset, ours, 0, float64(resets))
	return nil
}

// askForTakeover asks a question in a new thread, and returns the id of the answer once it is being written.
func askForTakeover(ctx context.Context, client *tsumugi.Client, skill tsumugi.Skill) (messageID string, err error) {
	thread, err := client.NewThread(ctx, skill.ID, "")
	if err != nil {
		return "", err
	}
	const directive = `@script {"chars": 1500, "vary": true, "tokens_per_second": 50}`
	answer := client.Ask(tsumugi.Question{ThreadID: thread.ID, Content: directive})
	for event, err := range answer.Events(ctx) {
		if err != nil {
			return "", err
		}
		if strings.HasPrefix(event.Type, "text") {
			break
		}
	}
	return answer.MessageID, nil
}
