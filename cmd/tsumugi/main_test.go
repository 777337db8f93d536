package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"
	collectorpb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/tsumugi-ai/tsumugi/internal/datasource/extract/pdf/pdftest"
	"github.com/tsumugi-ai/tsumugi/internal/llm/llmtest"
	"github.com/tsumugi-ai/tsumugi/internal/sandbox"
	"github.com/tsumugi-ai/tsumugi/store/postgres"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// child is the environment variable that makes the test binary run the program with its arguments.
const child = "TSUMUGI_TEST_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(child) == readPage {
		if err := printPage(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	if os.Getenv(child) != "" || len(os.Args) > 1 && os.Args[1] == sandbox.Command {
		main()
		return
	}
	for _, name := range []string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"} { // For buckets in this process.
		if os.Getenv(name) == "" {
			_ = os.Setenv(name, "test")
		}
	}
	os.Exit(m.Run())
}

// process is the program as a user runs it.
type process struct {
	cmd     *exec.Cmd
	address string
	welcome string
	log     string // File.
	took    time.Duration
}

// openTempDir lets other accounts reach a data folder in a test's folder. As root, the embedded database runs as another
// account, and would otherwise use a folder in /var/lib, where it would remain.
func openTempDir(t *testing.T, data string) {
	t.Helper()
	for dir := filepath.Dir(data); strings.HasPrefix(dir, os.TempDir()+"/"); dir = filepath.Dir(dir) {
		must.Succeed(t, os.Chmod(dir, 0o755)) //nolint:gosec // For the test only.
	}
}

// start runs the program on a data folder until the test ends, and returns when it is ready.
func start(t *testing.T, data string, environ ...string) *process {
	t.Helper()
	openTempDir(t, data)
	//nolint:gosec // Itself.
	p := &process{cmd: exec.CommandContext(t.Context(), os.Args[0], "serve", "--listen=127.0.0.1:0", "--data="+data)}
	// A killed program would leave a database that writes while the test's folder is removed.
	p.cmd.Cancel = func() error { return p.cmd.Process.Signal(os.Interrupt) }
	p.cmd.WaitDelay = time.Minute
	p.cmd.Env = append(append(os.Environ(), child+"=1", "TSUMUGI_DEMO_PASSWORD=Tsumugi-Demo-1",
		pdftest.CacheVariable+"="+pdftest.Cache(t)), environ...)
	log := must.Get(os.CreateTemp(t.TempDir(), "log"))(t)
	defer log.Close()
	p.log, p.cmd.Stderr = log.Name(), log
	out := must.Get(p.cmd.StdoutPipe())(t)
	began := time.Now()
	must.Succeed(t, p.cmd.Start())
	t.Cleanup(func() { _ = p.cmd.Wait() }) // The test's context is cancelled before cleanups run.
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		p.welcome += lines.Text() + "\n"
		if match := regexp.MustCompile(`http://\S+`).FindString(lines.Text()); match != "" {
			p.address = match
		}
		if strings.Contains(lines.Text(), "Ctrl-C") {
			p.took = time.Since(began)
			return p
		}
	}
	text, _ := os.ReadFile(p.log)
	t.Fatalf("the program ended: %s%s", p.welcome, text)
	return nil
}

// end sends a signal and waits for the program's end.
func (p *process) end(t *testing.T, signal os.Signal) error {
	t.Helper()
	must.Succeed(t, p.cmd.Process.Signal(signal))
	return p.cmd.Wait()
}

// json sends a request with a JSON body and decodes the response.
func (p *process) json(t *testing.T, method, path, token string, body, into any) int {
	t.Helper()
	encoded := must.Get(json.Marshal(body))(t)
	req := must.Get(http.NewRequestWithContext(t.Context(), method, p.address+path, bytes.NewReader(encoded)))(t)
	req.Header.Set("Content-Type", "application/json")
	if path == "/pool/" {
		req.Header.Set("Content-Type", "application/x-amz-json-1.1")
		req.Header.Set("X-Amz-Target", "AWSCognitoIdentityProviderService.InitiateAuth")
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp := must.Get(http.DefaultClient.Do(req))(t)
	defer resp.Body.Close()
	answer := must.Get(io.ReadAll(resp.Body))(t)
	if into != nil && resp.StatusCode < 300 {
		if err := json.Unmarshal(answer, into); err != nil {
			t.Fatalf("%s: %v", answer, err)
		}
	}
	return resp.StatusCode
}

func (p *process) signIn(t *testing.T, email string) string {
	t.Helper()
	var answer struct{ AuthenticationResult struct{ IdToken string } }
	p.json(t, "POST", "/pool/", "", map[string]any{
		"AuthFlow": "USER_PASSWORD_AUTH", "ClientId": clientID,
		"AuthParameters": map[string]string{"USERNAME": email, "PASSWORD": "Tsumugi-Demo-1"},
	}, &answer)
	if answer.AuthenticationResult.IdToken == "" {
		t.Fatal("signing in failed")
	}
	return answer.AuthenticationResult.IdToken
}

type message struct {
	ID, Content, Status string
}

func (p *process) thread(t *testing.T, token string) string {
	t.Helper()
	var skills struct{ Items []struct{ ID, Kind string } }
	p.json(t, "GET", "/v1/skill", token, nil, &skills)
	var thread struct{ ID string }
	if status := p.json(t, "POST", "/v1/thread", token, map[string]any{"skill_id": skills.Items[0].ID},
		&thread); status != http.StatusCreated {
		t.Fatalf("got %d", status)
	}
	return thread.ID
}

// TestServeAnswersAQuestion starts the program on an empty folder and asks a question. It stops the program with
// SIGINT, SIGKILL and SIGTERM, and restarts it in between.
func TestServeAnswersAQuestion(t *testing.T) {
	t.Parallel()
	data := filepath.Join(t.TempDir(), "data")
	first := start(t, data)
	if !strings.Contains(first.welcome, "admin@demo.example") || !strings.Contains(first.welcome, "Tsumugi-Demo-1") {
		t.Errorf("the first start says %s", first.welcome)
	}
	token := first.signIn(t, "user@demo.example")
	thread := first.thread(t, token)
	var exchange struct{ Answer message }
	if status := first.json(t, "POST", "/v1/message/sync", token,
		map[string]any{"request_id": uuid.NewString(), "thread_id": thread, "content": "こんにちは"},
		&exchange); status != http.StatusOK || !strings.Contains(exchange.Answer.Content, "AIモデルが未設定") {
		t.Errorf("got %d %+v", status, exchange)
	}
	if err := first.end(t, os.Interrupt); err != nil {
		text, _ := os.ReadFile(first.log)
		t.Errorf("Ctrl-C: %v\n%s", err, text)
	}
	second := start(t, data)
	if strings.Contains(second.welcome, "Tsumugi-Demo-1") {
		t.Error("the second start shows passwords")
	}
	t.Logf("first start %v, second %v", first.took, second.took)
	_ = second.end(t, syscall.SIGKILL)
	third := start(t, data)
	var list struct{ Items []message }
	third.json(t, "GET", "/v1/message?thread_id="+thread, third.signIn(t, "user@demo.example"), nil, &list)
	if len(list.Items) != 2 || list.Items[0].Content != exchange.Answer.Content {
		t.Errorf("after kill -9: %+v", list.Items)
	}
	if err := third.end(t, syscall.SIGTERM); err != nil {
		t.Errorf("SIGTERM: %v", err)
	}
}

// TestTimeLimitsOfTheModelAreSettings uses a model that stalls before the first token, and after it.
func TestTimeLimitsOfTheModelAreSettings(t *testing.T) {
	t.Parallel()
	provider := llmtest.NewProvider(t)
	provider.Add(llmtest.Stall())
	provider.Add(llmtest.Text("ここまで"), llmtest.Stall())
	p := start(t, filepath.Join(t.TempDir(), "data"),
		"OPENAI_BASE_URL="+provider.URL(), "OPENAI_FIRST_TOKEN_TIMEOUT=2s", "OPENAI_TOKEN_TIMEOUT=1s")
	token := p.signIn(t, "user@demo.example")
	for _, text := range []string{"", "ここまで"} {
		ask := map[string]any{"request_id": uuid.NewString(), "thread_id": p.thread(t, token), "content": "答えて"}
		var exchange struct{ Answer message }
		if status := p.json(t, "POST", "/v1/message/sync", token, ask, &exchange); status != http.StatusOK {
			t.Fatalf("got %d", status)
		}
		if answer := exchange.Answer; answer.Content != text || answer.Status != "failed" {
			t.Errorf("%+v", answer)
		}
	}
}

// TestKilledServerAnswersAfterItsRestart kills the program during an answer. The restarted program asks the model again
// as run 2.
func TestKilledServerAnswersAfterItsRestart(t *testing.T) {
	t.Parallel()
	data := filepath.Join(t.TempDir(), "data")
	provider := llmtest.NewProvider(t)
	reached := make(chan struct{})
	provider.Add(llmtest.Bytes([]byte("半分まで")), llmtest.Reached(reached), llmtest.Stall())
	provider.Add(llmtest.Answer("二度目の", "回答")...)
	environ := "OPENAI_BASE_URL=" + provider.URL()
	first := start(t, data, environ)
	token := first.signIn(t, "user@demo.example")
	ask := map[string]any{"request_id": uuid.NewString(), "thread_id": first.thread(t, token), "content": "最後まで答えて"}
	var exchange struct{ Answer message }
	if status := first.json(t, "POST", "/v1/message/async", token, ask, &exchange); status != http.StatusAccepted {
		t.Fatalf("got %d", status)
	}
	<-reached
	_ = first.end(t, syscall.SIGKILL)

	second := start(t, data, environ)
	req := must.Get(http.NewRequestWithContext(t.Context(), "GET",
		second.address+"/v1/message/"+exchange.Answer.ID+"/stream", nil))(t)
	req.Header.Set("Authorization", "Bearer "+second.signIn(t, "user@demo.example"))
	req.Header.Set("Last-Event-ID", "1-12")
	resp := must.Get(http.DefaultClient.Do(req))(t)
	defer resp.Body.Close()
	stream := must.Get(io.ReadAll(resp.Body))(t)
	for _, part := range []string{`{"type":"data-reset","data":{"run":`, "二度目の", "回答", "data: [DONE]"} {
		if !strings.Contains(string(stream), part) {
			t.Errorf("the stream lacks %s:\n%s", part, stream)
		}
	}
	if strings.Contains(string(stream), "半分") {
		t.Errorf("two runs were mixed:\n%s", stream)
	}
}

// TestStartThatFailsMakesNoDemo starts the program with settings whose errors are detected late. The first successful
// start creates the demo organization and shows its passwords.
func TestStartThatFailsMakesNoDemo(t *testing.T) {
	t.Parallel()
	data := filepath.Join(t.TempDir(), "data")
	for setting, environ := range map[string]string{
		"OPENAI_API_KEY": "OPENAI_API_KEY=two words", "TSUMUGI_DEMO_PASSWORD": "TSUMUGI_DEMO_PASSWORD=short",
	} {
		args := []string{"serve", "--listen=127.0.0.1:0", "--data=" + data}
		if err := run(t.Context(), args, []string{environ}, io.Discard, io.Discard); err == nil ||
			!strings.Contains(err.Error(), setting) {
			t.Errorf("%s: %v", environ, err)
		}
	}
	p := start(t, data)
	if !strings.Contains(p.welcome, "Tsumugi-Demo-1") {
		t.Errorf("the passwords are not shown:\n%s", p.welcome)
	}
	p.signIn(t, "admin@demo.example")
	p.signIn(t, "user@demo.example")
}

func TestBusyAddressIsNamed(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	p := start(t, filepath.Join(t.TempDir(), "data"), "TSUMUGI_DEMO=false")
	if strings.Contains(p.welcome, "demo.example") {
		t.Errorf("demo users were made: %s", p.welcome)
	}
	err := run(ctx, []string{"serve", "--listen", strings.TrimPrefix(p.address, "http://")}, nil, io.Discard,
		io.Discard)
	if err == nil || !strings.Contains(err.Error(), "TSUMUGI_LISTEN") {
		t.Errorf("got %v", err)
	}
	if got := fmt.Sprint(err); strings.Contains(got, "panic") {
		t.Error(got)
	}
}

// TestAQuestionIsOneTrace runs a collector of traces. The request, storing the question, the generation and the stream
// are one trace, which does not contain the text of the question.
func TestAQuestionIsOneTrace(t *testing.T) {
	t.Parallel()
	spans := make(chan *tracepb.Span, 1000)
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		var request collectorpb.ExportTraceServiceRequest
		if err != nil || proto.Unmarshal(body, &request) != nil || bytes.Contains(body, []byte("社外秘")) {
			t.Errorf("got %q", body)
		}
		for _, resource := range request.GetResourceSpans() {
			for _, scope := range resource.GetScopeSpans() {
				for _, span := range scope.GetSpans() {
					spans <- span
				}
			}
		}
	}))
	defer collector.Close()
	p := start(t, filepath.Join(t.TempDir(), "data"), "OTEL_EXPORTER_OTLP_ENDPOINT="+collector.URL)
	token := p.signIn(t, "user@demo.example")
	thread := p.thread(t, token)
	if status := p.json(t, "POST", "/v1/message/stream", token,
		map[string]any{"request_id": uuid.NewString(), "thread_id": thread, "content": "社外秘の質問"},
		nil); status != http.StatusOK {
		t.Fatalf("got %d", status)
	}
	must.Succeed(t, p.end(t, os.Interrupt))
	collector.Close() // Waits for requests in progress. The program sent all spans before it ended.
	close(spans)
	traces, events := make(map[string]string), ""
	for span := range spans {
		traces[span.GetName()] = string(span.GetTraceId())
		for _, event := range span.GetEvents() {
			events += event.GetName() + " "
		}
	}
	whole := traces["POST /v1/message/stream"]
	for _, name := range []string{"POST /v1/message/stream", "chat.send", "chat.generation", "stream"} {
		if whole == "" || traces[name] != whole {
			t.Errorf("%s is no part of the question's trace", name)
		}
	}
	for _, name := range []string{"first token", "last token", "stored"} {
		if !strings.Contains(events, name) {
			t.Errorf("the trace lacks the event %q; it has %s", name, events)
		}
	}
}

// TestFailedTracesAreLogged: while the collector of traces is down, every line of the log is JSON, if that is its form.
func TestFailedTracesAreLogged(t *testing.T) {
	t.Parallel()
	p := start(t, t.TempDir(), on(t).environ[0], "TSUMUGI_LOG=json", "OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:1")
	p.json(t, "GET", "/v1/me", "", nil, nil)
	if err := p.end(t, os.Interrupt); err != nil { // Exports the spans.
		t.Fatal(err)
	}
	log, err := os.ReadFile(p.log)
	if err != nil || !strings.Contains(string(log), `"msg":"telemetry: traces not exported"`) {
		t.Errorf("%v\n%s", err, log)
	}
	for line := range strings.Lines(string(log)) {
		if !json.Valid([]byte(line)) {
			t.Errorf("the log has the line %s", line)
		}
	}
}

// TestNoticesArePublishedByCommand publishes notices with a second process while the server runs.
func TestNoticesArePublishedByCommand(t *testing.T) {
	t.Parallel()
	data := filepath.Join(t.TempDir(), "data")
	args := []string{
		"notification", "publish", "--data", data, "--title", "定期メンテナンス", "--body", "22時から", "--level",
		"maintenance", "--url", "https://example.com/notice",
	}
	if err := run(t.Context(), args, nil, io.Discard, io.Discard); !errors.Is(err, postgres.ErrNotRunning) ||
		!strings.Contains(err.Error(), "TSUMUGI_DATA") {
		t.Errorf("without a server: %v", err)
	}
	p := start(t, data)
	var id bytes.Buffer
	must.Succeed(t, run(t.Context(), args, nil, &id, io.Discard))
	var list struct {
		Items []struct{ ID, Title, Body, URL, Level string }
	}
	p.json(t, "GET", "/v1/notification", p.signIn(t, "user@demo.example"), nil, &list)
	if len(list.Items) == 0 || list.Items[0].ID != strings.TrimSpace(id.String()) ||
		list.Items[0].Title != "定期メンテナンス" || list.Items[0].Level != "maintenance" {
		t.Errorf("%s was published, there are %+v", id.String(), list.Items)
	}
	for wrong, extra := range map[string][]string{
		"--title": {"--title", strings.Repeat("長", 201)}, "--url": {"--url", "javascript:alert(1)"},
		"--level":       {"--level", "loud"},
		"there is none": {"--organization", "x"}, "組織": {"--organization", uuid.NewString()},
	} {
		if err := run(t.Context(), append(args[:len(args):len(args)], extra...), nil, io.Discard,
			io.Discard); err == nil || !strings.Contains(err.Error(), wrong) {
			t.Errorf("%v: %v", extra, err)
		}
	}
}

// run runs a command without input.
func run(ctx context.Context, args, environ []string, stdout, stderr io.Writer) error {
	return runWithInput(ctx, args, environ, strings.NewReader(""), stdout, stderr)
}
