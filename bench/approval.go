package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	tsumugi "github.com/tsumugi-ai/tsumugi/clients/go"
	"github.com/tsumugi-ai/tsumugi/test/cluster"
)

// The columns of approvals.
const (
	nearTab = "tab at the same server"
	farTab  = "tab at the other server"
)

// measureApprovals approves calls of a tool at one of two servers, and follows each answer at both.
func measureApprovals(ctx context.Context, b *bench) error {
	t := newTable("Approvals of calls",
		"Two servers. From sending the approval of a call to its event in the stream of the answer, which an open tab at "+
			"each server follows. Servers approve in turn; one of them writes all answers.", "", nearTab, farTab)
	b.report.Sections = append(b.report.Sections, t)
	model, modelURL, err := startModel(ctx, b)
	if err != nil {
		return err
	}
	defer model.stop()
	tools := httptest.NewServer(newOffice())
	defer tools.Close()
	data := filepath.Join(b.dir, "approvals")
	if err := os.MkdirAll(data, 0o755); err != nil { //nolint:gosec // The database's account reads it.
		return err
	}
	servers, err := cluster.Start(ctx, cluster.Config{Program: b.tsumugi, Servers: 2, Data: data, Environ: []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "TSUMUGI_DEMO_PASSWORD=" + demoPassword,
		"TSUMUGI_LIMITS=off", "TSUMUGI_TOOL_HOSTS=127.0.0.1", "OPENAI_BASE_URL=" + modelURL, "OPENAI_API_KEY=bench",
	}})
	if err != nil {
		return err
	}
	defer func() { _ = servers.Stop(context.WithoutCancel(ctx)) }()
	a := &approver{}
	for i := range a.tabs {
		url := servers.Server(i).URL()
		a.tabs[i] = &tsumugi.Client{URL: url, Token: tsumugi.Password(url, demoUser, demoPassword, nil)}
	}
	if err := a.addSkill(ctx, servers.URL(), tools.URL); err != nil {
		return err
	}
	approvals := 50
	if b.quick {
		approvals = 4
	}
	for round := range b.rounds {
		b.say("Approvals of calls, round %d of %d", round+1, b.rounds)
		if err := a.measure(ctx, t, approvals); err != nil {
			return err
		}
	}
	for _, column := range t.Columns {
		b.report.atMostMedian("approval of a call, "+column+", p99", t, rowApproval(99), column, 1000, 0, " ms")
	}
	return nil
}

func rowApproval(percent int) string { return fmt.Sprintf("event of the approval, p%d ms", percent) }

// newOffice returns a tool server with one tool.
func newOffice() http.Handler {
	server := sdk.NewServer(&sdk.Implementation{Name: "office", Version: "1"}, nil)
	server.AddTool(&sdk.Tool{Name: "send", InputSchema: json.RawMessage(`{"type":"object"}`)},
		func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "送りました。"}}}, nil
		})
	return sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server },
		&sdk.StreamableHTTPOptions{Stateless: true})
}

// approver asks questions whose answers call a tool, and approves the calls.
type approver struct {
	tabs  [2]*tsumugi.Client // At each server.
	skill string
}

// addSkill adds a skill with the tool of the server at toolURL, whose calls need approval.
func (a *approver) addSkill(ctx context.Context, url, toolURL string) error {
	const administrator = "admin@demo.example"
	admin := &tsumugi.Client{URL: url, Token: tsumugi.Password(url, administrator, demoPassword, nil)}
	var server struct{ ID string }
	if err := admin.Call(ctx, http.MethodPost, "/v1/tool-server", map[string]string{
		"key": "office", "name": "office", "url": toolURL, "auth": "none",
	}, &server); err != nil {
		return err
	}
	if err := admin.Call(ctx, http.MethodPost, "/v1/tool-server/"+server.ID+"/discover", nil, &server); err != nil {
		return err
	}
	var err error
	a.skill, err = addSkill(ctx, a.tabs[0], "approvals", "office__send")
	return err
}

// measure approves n calls, one after the other.
func (a *approver) measure(ctx context.Context, t *table, n int) error {
	took := make(map[string][]float64)
	for i := range n {
		if err := a.approve(ctx, i%2, took); err != nil {
			return err
		}
	}
	for _, column := range t.Columns {
		for _, percent := range []int{50, 99} {
			t.add(rowApproval(percent), column, 1, quantile(took[column], float64(percent)/100))
		}
	}
	return nil
}

// approve asks a question, and approves its call at a server once both tabs show it. It adds the milliseconds until
// the tabs show the approval to took.
func (a *approver) approve(ctx context.Context, server int, took map[string][]float64) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	thread, err := a.tabs[0].NewThread(ctx, a.skill, "")
	if err != nil {
		return err
	}
	const directive = `@script {"chars": 40, "tool_calls": [[{"name": "office__send", "arguments": "{}"}]]}`
	asked, err := a.tabs[0].Post(ctx, tsumugi.Question{ThreadID: thread.ID, Content: directive})
	if err != nil {
		return err
	}
	var (
		shown, read sync.WaitGroup
		at          [2]time.Time
		errs        [2]error
	)
	for i, tab := range a.tabs {
		shown.Add(1)
		waits := sync.OnceFunc(shown.Done)
		read.Go(func() {
			defer waits()
			at[i], errs[i] = awaitApproval(ctx, tab.Follow(asked.Answer.ID), waits)
		})
	}
	shown.Wait()
	began, err := decide(ctx, a.tabs[server], asked.Answer.ID)
	if err != nil {
		cancel()
	}
	read.Wait()
	if err := errors.Join(err, errs[0], errs[1]); err != nil {
		return err
	}
	took[nearTab] = append(took[nearTab], 1000*at[server].Sub(began).Seconds())
	took[farTab] = append(took[farTab], 1000*at[1-server].Sub(began).Seconds())
	return nil
}

// decide approves the call of an answer, and returns the time before that.
func decide(ctx context.Context, tab *tsumugi.Client, messageID string) (time.Time, error) {
	calls, err := tab.WaitingToolCalls(ctx)
	if err != nil {
		return time.Time{}, err
	}
	began := time.Now()
	for _, call := range calls {
		if call.MessageID == messageID {
			_, err := tab.DecideToolCall(ctx, call.ID, tsumugi.Decision{
				Approved: true, ArgumentsSHA256: call.ArgumentsSHA256,
			})
			return began, err
		}
	}
	return began, errors.New("the call does not wait")
}

// awaitApproval returns the time of the event of the approval. It calls waits when the stream shows the call.
func awaitApproval(ctx context.Context, answer *tsumugi.Answer, waits func()) (time.Time, error) {
	for event, err := range answer.Events(ctx) {
		if err != nil {
			return time.Time{}, err
		}
		if event.Type != "data-tool-approval" {
			continue
		}
		var chunk struct{ Data struct{ State string } }
		if err := json.Unmarshal(event.Chunk, &chunk); err != nil {
			return time.Time{}, err
		}
		if chunk.Data.State == "approved" {
			return time.Now(), nil
		}
		waits()
	}
	return time.Time{}, errors.New("the answer has ended without an approval")
}
