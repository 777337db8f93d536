package system_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tsumugi-ai/tsumugi/internal/llm"
	"github.com/tsumugi-ai/tsumugi/internal/llm/llmtest"
	"github.com/tsumugi-ai/tsumugi/test/fakes/slack"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// The requests that a callState holds.
const (
	holdCall   = "call"   // The first round of the call.
	holdSecond = "second" // The second round of the call.
	holdModel  = "model"  // The model's, with the result.
)

// callState is the state of a call at the moment of the kill.
type callState struct {
	name     string
	tool     string // "send" if empty.
	rounds   int    // Requests to the model with calls; 1 if 0.
	approved bool   // The first decision is made.
	holds    string // The request that is in progress.
	returned bool   // The held request returns while the server is paused, which does not store the result.
	late     string // The decision while the server is paused: approve, edit or deny.
	racing   bool   // The decision is made at the moment of the kill.
	slack    bool   // The question is asked in Slack, and Slack decides at the same time as the tabs.
	requests []int  // The expected requests for each round if the server is lost once; nil if it depends on the moment.
}

var callStates = []callState{
	{name: "waits", requests: []int{1, 0}},
	{name: "waits in Slack", slack: true, requests: []int{1, 0}},
	{name: "decided, not sent", late: "approve", requests: []int{1, 0}},
	{name: "edited, not sent", late: "edit", requests: []int{1, 0}},
	{name: "denied", late: "deny", requests: []int{0, 0}},
	{name: "being decided", racing: true},
	{name: "running", approved: true, holds: holdCall, requests: []int{2, 0}},
	{name: "returned, not stored", approved: true, holds: holdCall, returned: true, requests: []int{2, 0}},
	{name: "returned, model not asked", approved: true, holds: holdModel, requests: []int{1, 0}},
	{name: "between two calls", rounds: 2, approved: true, requests: []int{1, 0}},
	{name: "waits for input", tool: "book", approved: true, requests: []int{1, 1}},
	{name: "input given, not sent", tool: "book", approved: true, late: "approve", requests: []int{1, 1}},
	{name: "second round is running", tool: "book", approved: true, holds: holdSecond, requests: []int{1, 2}},
}

// toolKills returns the number of kills in each state.
func toolKills(t *testing.T) int {
	t.Helper()
	text := os.Getenv("TSUMUGI_TEST_KILLS")
	if text == "" {
		return 2
	}
	n := must.Get(strconv.Atoi(text))(t)
	return n
}

// TestR20_KilledServersInEachStateOfACall kills one of two servers while answers are in each state of a call of a tool.
// Two tabs at different servers, and Slack, decide at the same time: one decision is stored. The tool server receives at
// most one request for each approval of a round. The stored text is exact, and the tabs show the same.
func TestR20_KilledServersInEachStateOfACall(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 3*waitLimit)
	defer cancel()
	host := newToolHost(t)
	s := newSlackRig(t, 2, false, shortLease, "TSUMUGI_TOOL_HOSTS=127.0.0.1", "OPENAI_BASE_URL="+host.model.URL+"/v1")
	s.addTools(t, s.URL(), host.tools.URL)
	k := &callKiller{
		slackRig: s, host: host, seen: make(map[string]bool), last: make(map[string]int), approved: make(map[callRound]int),
	}
	began, n := time.Now(), toolKills(t)
	for i := range n {
		if k.kill(ctx, t, i%2, uint64(i)); t.Failed() { //nolint:gosec // Small.
			t.Fatalf("after %d kills", i+1)
		}
	}
	k.checkDecisions(ctx, t)
	t.Logf("%d kills, each in %d states, in %v: %d calls waited, %d were approved, %d of them in Slack; %d requests", n,
		len(callStates), time.Since(began).Round(time.Second), len(k.seen), sum(k.approved), k.inSlack, sum(host.requests))
}

func sum(counts map[callRound]int) (n int) {
	for count := range maps.Values(counts) {
		n += count
	}
	return n
}

// callKiller asks questions whose answers call tools, decides and kills servers.
type callKiller struct {
	*slackRig
	host *toolHost

	mu       sync.Mutex
	seen     map[string]bool   // Guarded by mu. The approvals about which a decision is made.
	last     map[string]int    // Guarded by mu. The round of the last approval by the id in the arguments.
	approved map[callRound]int // Guarded by mu. The number of approvals.
	inSlack  int               // Guarded by mu. The number of approvals in Slack.
}

// calling is an answer that calls a tool.
type calling struct {
	callState
	key  string
	want string // The text.
	hold *hold
	tabs []*tab

	threadID, messageID string
	slackTS             string
}

// id returns the id in the arguments of the first call of a round of calls, from 1.
func (c *calling) id(round int) string { return fmt.Sprint(c.key, "/", round) }

func (c *calling) edited() string { return fmt.Sprintf(`{"edited":true,"id":"%s"}`, c.id(1)) }

// newCalling returns a question that leads to a state, and its text.
func (k *callKiller) newCalling(state callState, seed uint64) (c *calling, text string) {
	c = &calling{callState: state, key: newID()}
	c.tool = cmp.Or(c.tool, "send")
	if c.holds != "" {
		c.hold = k.host.hold(c.key, c.holds)
	}
	const before = "道具を使います。"
	var rounds [][]llm.ToolCall
	for round := range max(c.rounds, 1) {
		rounds = append(rounds, []llm.ToolCall{{
			Name: "office__" + c.tool, Arguments: fmt.Sprintf(`{"id":"%s"}`, c.id(round+1)),
		}})
		c.want += before + "\n\n"
	}
	c.want += llmtest.Markdown(300, seed)
	directive, _ := json.Marshal(map[string]any{
		"before": before, "tool_calls": rounds, "chars": 300, "seed": seed, "tokens_per_second": 400, "token_chars": 4,
	})
	return c, llmtest.Marker + " " + string(directive)
}

// ask asks a question, and shows its answer in two tabs when its call waits. It returns the call.
func (k *callKiller) ask(ctx context.Context, t *testing.T, c *calling, text, base string) waitingCall {
	t.Helper()
	if c.slack {
		var err error
		c.slackTS, err = k.workspace.Mention(slack.Said{
			Channel: slack.DemoSales, User: slack.DemoTaro, Text: toolSkill + ": " + text,
		})
		must.Succeed(t, err)
	} else {
		k.client.ask(t, base, question{RequestID: newID(), ThreadID: k.thread(t, base), Content: text})
	}
	w := k.awaitCall(ctx, t, c.id(1), "")
	c.threadID, c.messageID = w.ThreadID, w.MessageID
	for server := range 2 {
		c.tabs = append(c.tabs, newTab(k.watcher(asked{exchange: exchange{Answer: message{ID: c.messageID}}}, k.at(server))))
	}
	return w
}

// awaitCall waits for a call that needs a decision. cause may be empty.
func (k *callKiller) awaitCall(ctx context.Context, t *testing.T, id, cause string) (found waitingCall) {
	t.Helper()
	await(t, "call "+id+" "+cause, waitLimit, func() bool {
		list, err := k.waitingCalls(ctx, k.URL())
		i := slices.IndexFunc(list, func(w waitingCall) bool { return w.id() == id && (cause == "" || w.Cause == cause) })
		if err == nil && i >= 0 {
			found = list[i]
		}
		return found.ID != ""
	})
	return found
}

// decide makes a decision in a tab at each of the servers, at the same time, and in Slack if slackTS is set. Exactly one
// is stored.
func (k *callKiller) decide(ctx context.Context, t *testing.T, w waitingCall, approved bool, edit, slackTS string,
	servers ...int,
) {
	k.mu.Lock()
	k.seen[w.ID] = true
	k.mu.Unlock()
	errs := make([]error, len(servers))
	var all sync.WaitGroup
	for i, server := range servers {
		decision := w.decision(approved, edit)
		all.Go(func() {
			if slackTS != "" {
				pause(ctx, rand.N(100*time.Millisecond)) // Slack takes longer.
			}
			errs[i] = withRetries(ctx, func() error {
				return k.call(ctx, http.MethodPost, k.at(server)()+"/v1/tool-call/"+w.ID+"/decision", decision, nil)
			})
		})
	}
	if slackTS != "" {
		all.Go(func() { k.approveInSlack(ctx, t, slackTS) })
	}
	all.Wait()
	stored := 0
	for _, err := range errs {
		if err == nil {
			stored++
		} else if !isProblem(err, http.StatusConflict) {
			t.Errorf("call %s: %v", w.Arguments, err)
		}
	}
	if stored > 1 || stored == 0 && slackTS == "" {
		t.Errorf("%d decisions about call %s are stored: %v", stored, w.Arguments, errs)
	}
	if !approved {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if stored == 0 {
		k.inSlack++
	}
	switch w.Cause {
	case "input":
		k.last[w.id()] = 2
	case "unknown": // The last round again.
	default:
		k.last[w.id()] = 1
	}
	k.approved[callRound{w.id(), k.last[w.id()]}]++
}

// approveInSlack presses the button of a request in a thread if the request still waits.
func (k *callKiller) approveInSlack(ctx context.Context, t *testing.T, ts string) {
	for _, m := range k.buttons(ts) {
		if err := k.workspace.Click(ctx, slack.DemoTaro, m.Channel, m.TS, approveButton); err != nil {
			t.Logf("Slack: %v", err) // The tabs have been faster.
		}
	}
}

const approveButton = "tsumugi_approve"

// buttons returns the messages with buttons to decide in a thread.
func (k *callKiller) buttons(ts string) []slack.Message {
	return slices.DeleteFunc(k.workspace.Answers(slack.DemoSales, ts), func(m slack.Message) bool {
		return !strings.Contains(string(m.Blocks), approveButton)
	})
}

// kill kills a server while answers are in all states, and checks the answers.
func (k *callKiller) kill(ctx context.Context, t *testing.T, victim int, seed uint64) {
	t.Helper()
	var all []*calling
	waiting := make(map[*calling]waitingCall)
	for _, state := range callStates {
		c, text := k.newCalling(state, seed)
		all = append(all, c)
		waiting[c] = k.ask(ctx, t, c, text, k.at(victim)())
	}
	var reading sync.WaitGroup
	for _, c := range all {
		for _, tab := range c.tabs {
			reading.Go(func() {
				if err := tab.follow(ctx); err != nil {
					t.Error(err)
				}
			})
		}
	}
	for _, c := range all {
		if c.approved {
			k.decide(ctx, t, waiting[c], true, "", "", 0, 1)
		}
	}
	for _, c := range all {
		waiting[c] = k.reach(ctx, t, c, waiting[c])
	}
	var deciding sync.WaitGroup
	for _, c := range all {
		if c.racing {
			deciding.Go(func() { k.decide(ctx, t, waiting[c], true, "", "", 0, 1) })
		}
	}
	pause(ctx, rand.N(30*time.Millisecond))
	k.Server(victim).Pause()
	k.decideLate(ctx, t, all, waiting, 1-victim, &deciding)
	k.Kill(victim)
	must.Succeed(t, k.Restart(ctx, victim))
	deciding.Wait()
	k.decideRest(ctx, t, all, &reading)
	for _, c := range all {
		k.check(ctx, t, c)
	}
}

// reach continues an answer until it is in its state. It returns the call that waits.
func (k *callKiller) reach(ctx context.Context, t *testing.T, c *calling, w waitingCall) waitingCall {
	t.Helper()
	if c.tool == "book" {
		w = k.awaitCall(ctx, t, c.id(1), "input")
		if c.holds == holdSecond {
			k.decide(ctx, t, w, true, "", "", 0, 1)
		}
	}
	if c.rounds == 2 {
		w = k.awaitCall(ctx, t, c.id(2), "")
	}
	if c.slack {
		k.awaitWorkspace(t, "a request in Slack", func() bool { return len(k.buttons(c.slackTS)) > 0 })
	}
	if c.hold != nil {
		select {
		case <-c.hold.reached:
		case <-ctx.Done():
			t.Fatalf("%s: not reached", c.name)
		}
	}
	return w
}

// decideLate makes the decisions, and returns the results, that the paused server does not see. A decision waits until
// the server is killed if the server was paused in a transaction.
func (k *callKiller) decideLate(ctx context.Context, t *testing.T, all []*calling, waiting map[*calling]waitingCall,
	server int, deciding *sync.WaitGroup,
) {
	t.Helper()
	var late sync.WaitGroup
	for _, c := range all {
		if c.late != "" {
			edit := ""
			if c.late == "edit" {
				edit = c.edited()
			}
			late.Add(1)
			deciding.Go(func() {
				defer late.Done()
				k.decide(ctx, t, waiting[c], c.late != "deny", edit, "", server, server)
			})
		}
		if c.returned {
			close(c.hold.release)
			<-c.hold.served
		}
	}
	decided := make(chan struct{})
	go func() {
		late.Wait()
		close(decided)
	}()
	select {
	case <-decided:
	case <-time.After(10 * time.Second):
	case <-ctx.Done():
	}
}

// decideRest approves all calls that wait until the answers are complete.
func (k *callKiller) decideRest(ctx context.Context, t *testing.T, all []*calling, reading *sync.WaitGroup) {
	t.Helper()
	read := make(chan struct{})
	go func() {
		reading.Wait()
		close(read)
	}()
	inSlack := make(map[string]string)
	for _, c := range all {
		inSlack[c.id(1)] = c.slackTS
	}
	for {
		select {
		case <-read:
			return
		case <-ctx.Done():
			t.Fatal(ctx.Err())
		case <-time.After(50 * time.Millisecond):
		}
		list, err := k.waitingCalls(ctx, k.URL())
		if err != nil {
			continue // The balancer may have no ready server for a moment.
		}
		var deciding sync.WaitGroup
		for _, w := range list {
			k.mu.Lock()
			seen := k.seen[w.ID]
			k.mu.Unlock()
			if !seen {
				deciding.Go(func() { k.decide(ctx, t, w, true, "", inSlack[w.id()], 0, 1) })
			}
		}
		deciding.Wait()
	}
}

// check checks a complete answer, its tabs and the requests to the tool server.
func (k *callKiller) check(ctx context.Context, t *testing.T, c *calling) {
	t.Helper()
	first := c.tabs[0]
	if err := first.same(c.tabs[1]); err != nil {
		t.Errorf("%s: %v", c.name, err)
	}
	messages := must.Get(k.messages(ctx, k.URL(), c.threadID))(t)
	stored := messages[len(messages)-1]
	if stored.Status != "success" || stored.Content != c.want || string(first.text) != c.want ||
		len(stored.ToolCalls) != max(c.rounds, 1) {
		t.Errorf("%s: stored %+v, shown %q, want %q", c.name, stored, first.text, c.want)
	}
	for _, call := range stored.ToolCalls {
		k.checkCall(t, c, first.calls[call.ID], call)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.host.mu.Lock()
	defer k.host.mu.Unlock()
	for round := range max(c.rounds, 1) {
		var requests []int
		for part := range 2 {
			at := callRound{c.id(round + 1), part + 1}
			requests = append(requests, k.host.requests[at])
			if k.host.requests[at] > k.approved[at] {
				t.Errorf("%s: %d requests after %d approvals of round %d", c.name, k.host.requests[at], k.approved[at], part+1)
			}
		}
		// On a busy machine, a server may be taken for lost before it is killed.
		if c.requests != nil && first.run == first.first+1 && !slices.Equal(requests, c.requests) {
			t.Errorf("%s: %v requests for the rounds, want %v", c.name, requests, c.requests)
		}
	}
	if c.slack {
		k.awaitWorkspace(t, "no buttons, and the text", func() bool {
			return len(k.buttons(c.slackTS)) == 0 && k.says(c.slackTS, bareText(c.want))
		})
	}
	if sent := k.host.sent[c.id(1)]; c.late == "edit" && sent != c.edited() {
		t.Errorf("%s: sent %s", c.name, sent)
	}
}

// checkCall compares a stored call with the shown one.
func (k *callKiller) checkCall(t *testing.T, c *calling, shown shownCall, stored storedCall) {
	t.Helper()
	status, result, output := "success", "結果 ", stored.Result
	if c.late == "deny" {
		status, result, output = "denied", "拒否", "tool-output-denied"
	}
	if !strings.Contains(stored.Result, result) {
		t.Errorf("%s: result %q", c.name, stored.Result)
	}
	if stored.Status != status || shown.Output != output || shown.Input != stored.Arguments {
		t.Errorf("%s: shown %+v, stored %+v", c.name, shown, stored)
	}
}

// checkDecisions checks that each decision is stored and logged once.
func (k *callKiller) checkDecisions(ctx context.Context, t *testing.T) {
	t.Helper()
	conn := must.Get(pgx.Connect(ctx, k.DSN()))(t)
	defer conn.Close(context.WithoutCancel(ctx))
	var decided, logged int
	must.Succeed(t, conn.QueryRow(ctx, `
		SELECT (SELECT count(*) FROM tool_approvals WHERE decision IN ('approved', 'denied')),
			(SELECT count(*) FROM audit_events WHERE action IN ('tool_call.approve', 'tool_call.deny'))`).
		Scan(&decided, &logged))
	if decided != logged || decided != len(k.seen) {
		t.Errorf("%d decisions are stored and %d logged, of %d calls", decided, logged, len(k.seen))
	}
}
