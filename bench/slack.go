package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"time"

	"github.com/tsumugi-ai/tsumugi/test/fakes/slack"
)

const slackRate = 200 // Events a second.

// measureSlack sends events of a Slack workspace and measures the time until each is acknowledged. The server
// acknowledges an event after storing it. Slack repeats events that are not acknowledged within three seconds.
func measureSlack(ctx context.Context, b *bench) error {
	seconds := 20
	if b.quick {
		seconds = 2
	}
	t := newTable(fmt.Sprintf("Slack: %d events a second", slackRate),
		fmt.Sprintf("Mentions by people who are not linked, for %d s, ms from the request to its acknowledgement. "+
			"Meanwhile the server handles them and tells each person how to be linked.", seconds), "", ours)
	b.report.Sections = append(b.report.Sections, t)
	workspace := slack.New(slack.Demo())
	defer workspace.Close()
	api := httptest.NewServer(workspace)
	defer api.Close()
	workspace.SetURL(api.URL)
	p := &product{environ: []string{
		"SLACK_API_URL=" + api.URL + "/api/", "SLACK_BOT_TOKEN=" + slack.DemoToken,
		"SLACK_SIGNING_SECRET=" + slack.DemoSecret,
	}}
	defer p.stop()
	if err := p.start(ctx, b); err != nil {
		return err
	}
	for round := range b.rounds {
		b.say("Slack")
		took, err := sendEvents(ctx, p.url, round, seconds)
		if err != nil {
			return err
		}
		t.add("acknowledged, p50", ours, 1, quantile(took, 0.5))
		t.add("acknowledged, p99", ours, 1, quantile(took, 0.99))
	}
	b.report.atMostMedian(fmt.Sprintf("Slack: acknowledged under %d events/s, p99", slackRate),
		t, "acknowledged, p99", ours, 1000, 0, " ms")
	return nil
}

// sendEvents sends events at slackRate and returns the duration of each request in ms.
func sendEvents(ctx context.Context, url string, round, seconds int) ([]float64, error) {
	enough := make(chan struct{})
	return atRate(ctx, slackRate, enough, func(i int) error {
		if i == seconds*slackRate-1 {
			close(enough)
		}
		return sendEvent(ctx, url, fmt.Sprintf("Ev%02d%08d", round, i))
	})
}

// atRate makes perSecond calls a second, each at its due time, until enough is closed. It returns the time from when each
// was due to its end in ms.
func atRate(ctx context.Context, perSecond int, enough <-chan struct{}, call func(i int) error) ([]float64, error) {
	var mu sync.Mutex // Guards took and failed.
	var took []float64
	var failed error
	var calls sync.WaitGroup
	defer calls.Wait()
	began := time.Now()
	for i := 0; ; i++ {
		due := began.Add(time.Duration(i) * time.Second / time.Duration(perSecond))
		select {
		case <-time.After(time.Until(due)):
		case <-enough:
			calls.Wait()
			return took, failed
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		calls.Go(func() {
			err := call(i)
			ms := float64(time.Since(due).Microseconds()) / 1000
			mu.Lock()
			defer mu.Unlock()
			took, failed = append(took, ms), cmp.Or(failed, err)
		})
	}
}

// sendEvent sends a signed event with a mention.
func sendEvent(ctx context.Context, url, id string) error {
	now := strconv.FormatInt(time.Now().Unix(), 10)
	body := fmt.Appendf(nil, `{"type":"event_callback","team_id":%q,"api_app_id":%q,"event_id":%q,"event_time":%s,`+
		`"event":{"type":"app_mention","user":%q,"channel":%q,"ts":"%s.%s","text":"<@%s> 質問です"}}`,
		slack.DemoTeam, slack.DemoApp, id, now, slack.DemoJiro, slack.DemoSales, now, id[4:], slack.DemoBot)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/external/slack/v1/event", bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-Slack-Request-Timestamp", now)
	req.Header.Set("X-Slack-Signature", slack.Signature(slack.DemoSecret, now, body))
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("an event was answered with %s", resp.Status)
	}
	return nil
}
