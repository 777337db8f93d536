package main

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tsumugi-ai/tsumugi/bench/wire"
	"github.com/tsumugi-ai/tsumugi/internal/llm/llmtest"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// child is the environment variable that makes the test binary run the command, because the command starts itself as a
// child process for each system.
const child = "TSUMUGI_BENCH_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(child) != "" {
		main()
		return
	}
	if err := os.Setenv(child, "1"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

func newBench(t *testing.T) *bench {
	t.Helper()
	return &bench{rounds: 1, quick: true, dir: t.TempDir(), progress: io.Discard}
}

// TestEverySystemDeliversTheText runs each measurement on a small scale and checks that all systems deliver the same
// text.
func TestEverySystemDeliversTheText(t *testing.T) {
	t.Parallel()
	for _, name := range []string{ours, oursHTTP, r3labs, tmaxmax, bare} {
		t.Run(strings.ReplaceAll(name, "/", " "), func(t *testing.T) {
			t.Parallel()
			b, table := newBench(t), newTable("", "", "", name)
			must.Succeed(t, burst(t.Context(), b, table, name, 3))
			if err := paced(t.Context(), b, table, name, pace{streams: 5, perSecond: 50}, 1); err != nil {
				t.Fatal(err)
			}
			must.Succeed(t, resume(t.Context(), b, table, name))
			twice := 0.0
			if name == r3labs {
				twice = resumers // r3labs/sse repeats the event with the client's Last-Event-ID.
			}
			for row, want := range map[string]float64{
				"N = 3: watchers whose text differs": 0, "5 × 50/s: tokens lost or twice": 0,
				rowLost: 0, rowDuplicated: twice, rowResumeText: 0,
			} {
				if got := table.worst(row, name); got != want {
					t.Errorf("%s: got %v, want %v", row, got, want)
				}
			}
			if got := table.median("N = 3: thousand events/s", name); !(got > 0) {
				t.Errorf("throughput is %v", got)
			}
		})
	}
}

func TestReaderCountsLostAndRepeatedTokens(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		tokens           []int
		lost, duplicated int
	}{
		"all":    {[]int{0, 1, 2, 3}, 0, 0},
		"a hole": {[]int{0, 3}, 2, 0},
		"twice":  {[]int{0, 1, 0, 1, 2, 3}, 0, 2},
	} {
		var stream []byte
		for _, n := range test.tokens {
			stream = appendFrame(stream, n)
		}
		for step := range len(stream) {
			r := newReader(0, 4)
			done := false
			for rest := stream; len(rest) > 0; rest = rest[min(step+1, len(rest)):] {
				done = r.Take(rest[:min(step+1, len(rest))], time.Time{})
			}
			if !done || r.lost != test.lost || r.duplicated != test.duplicated {
				t.Fatalf("%s in steps of %d: done %v, lost %d, twice %d", name, step+1, done, r.lost, r.duplicated)
			}
			if same := r.sum() == wantedText(0, 4); same != (test.lost == 0) {
				t.Errorf("%s in steps of %d: the text is the same: %v", name, step+1, same)
			}
		}
	}
}

// TestReaderJoinsTokensOfTwoEvents reads a token that is split over two events, as when a client resumes.
func TestReaderJoinsTokensOfTwoEvents(t *testing.T) {
	t.Parallel()
	text := llmtest.AppendToken(llmtest.AppendToken(nil, 0), 1)
	r := newReader(0, 2)
	r.Take([]byte(dataStart+string(text[:9])+"\"}\n\n"), time.Time{})
	if !r.Take([]byte(dataStart+string(text[9:])+"\"}\n\n"), time.Time{}) || r.lost+r.duplicated != 0 {
		t.Errorf("lost %d, twice %d, next %d", r.lost, r.duplicated, r.next)
	}
}

// TestEverySystemAnswers asks the model through each system that can run in process.
func TestEverySystemAnswers(t *testing.T) {
	t.Parallel()
	for _, name := range []string{alone, lean, naive} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			model := httptest.NewServer(llmtest.NewHandler(0))
			defer model.Close()
			c := &chatSystem{address: model.Listener.Addr().String(), mark: contentMark}
			path, body := "/v1/chat/completions",
				`{"model":"m","stream":true,"messages":[{"role":"user","content":%q}]}`
			if name != alone {
				s, err := startSystem(t.Context(), newBench(t), spec{Name: name, Provider: model.URL + "/v1"}, 0)
				must.Succeed(t, err)
				defer s.stop()
				c.server, c.address, c.mark = s.process, s.address, deltaMark
				path, body = "/", `{"prompt":%q}`
			}
			c.requests = func(_ context.Context, question string, n, _ int) ([][]byte, error) {
				return slices.Repeat([][]byte{wire.Post(c.address, path, "", fmt.Appendf(nil, body, question))}, n), nil
			}
			m := chatRound{bench: newBench(t), name: name}
			for _, l := range []chatLoad{
				{chats: 3, answers: 6, tokens: 20, perSecond: 1000},
				{chats: 2, answers: 2, tokens: 5000},
			} {
				r, err := m.load(t.Context(), c, l)
				if err != nil || m.wrong != 0 || len(r.first) != l.answers || r.tokens != l.answers*l.tokens {
					t.Fatalf("%d wrong of %d, %v", m.wrong, len(r.first), err)
				}
				if paced := l.perSecond > 0; paced != (len(r.lags) == r.tokens) {
					t.Errorf("%d lags of %d tokens", len(r.lags), r.tokens)
				}
			}
		})
	}
}

func TestRefusedQuestionsAreCounted(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	model := llmtest.NewHandler(0)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asked.Add(1)%2 == 0 {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		model.ServeHTTP(w, r)
	}))
	defer server.Close()
	c := &chatSystem{address: server.Listener.Addr().String(), mark: contentMark}
	c.requests = func(_ context.Context, question string, n, _ int) ([][]byte, error) {
		body := fmt.Appendf(nil, `{"stream":true,"messages":[{"role":"user","content":%q}]}`, question)
		return slices.Repeat([][]byte{wire.Post(c.address, "/v1/chat/completions", "", body)}, n), nil
	}
	m := chatRound{bench: newBench(t), name: alone}
	if _, err := m.load(t.Context(), c, chatLoad{chats: 1, answers: 6, tokens: 5}); err != nil || m.refused != 3 ||
		m.wrong != 0 {
		t.Errorf("%d refused, %d wrong, %v", m.refused, m.wrong, err)
	}
}

func TestTwoServersDeliverTheText(t *testing.T) {
	t.Parallel()
	table, p := newTable("", "", ""), pace{streams: 3, perSecond: 20}
	for _, way := range []string{sameServer, otherServer} {
		must.Succeed(t, cross(t.Context(), newBench(t), table, way, p, 1))
		if wrong := table.worst(fmt.Sprintf(rowCrossLost, p.streams, p.perSecond), way); wrong != 0 {
			t.Errorf("%s: %v tokens lost or twice", way, wrong)
		}
	}
}

func TestAnswerReaderReadsTheClock(t *testing.T) {
	t.Parallel()
	began := time.Now().Truncate(time.Microsecond)
	text := llmtest.NumberedText(4, began)
	for name, test := range map[string]struct {
		text  []byte
		right bool
	}{
		"all": {text, true}, "a hole": {append(text[:12:12], text[18:]...), false},
		"more":  {append(text[:24:24], 'x'), false},
		"twice": {append(text[:18:18], text[12:]...), false},
	} {
		r := newAnswerReader(deltaMark, 4, 10*time.Millisecond)
		stream := []byte(dataStart + string(test.text) + "\"}\n\n" + doneLine + "\n\n")
		if !r.Take(stream, began.Add(time.Second)) || r.right() != test.right {
			t.Errorf("%s: right %v, lost %d, twice %d, next %d", name, r.right(), r.lost, r.duplicated, r.next)
		}
		if name == "all" && fmt.Sprint(r.lags) != "[1000 990 980 970]" {
			t.Errorf("lags %v", r.lags)
		}
	}
}

func TestStreamsThatEndWithTheirConnectionAreRead(t *testing.T) {
	t.Parallel()
	near, far := net.Pipe()
	defer near.Close()
	go func() {
		_, _ = far.Write([]byte("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n"))
		_, _ = far.Write(appendFrame(appendFrame(nil, 0), 1))
		_ = far.Close()
	}()
	r := newReader(0, 2)
	if err := wire.Follow(t.Context(), near, wire.SmallBuffer, nil, r); err != nil || !r.right() {
		t.Errorf("%v, lost %d, next %d", err, r.lost, r.next)
	}
}

func TestResultsAreWrittenIntoThePage(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "benchmarks")
	if err := os.WriteFile(folder+".md", []byte("before\n"+resultsBegin+"\nold\n"+resultsEnd+"\nafter\n"),
		0o600); err != nil {
		t.Fatal(err)
	}
	table := newTable("10,000 idle connections", "Method.", "", ours, r3labs)
	table.add(rowIdleRSS, ours, 1, 2.5)
	table.add(rowIdleRSS, r3labs, 1, 250)
	r := report{}
	r.Sections = append(r.Sections, table)
	r.atMost("what", 1, 2, 0, "")
	must.Succeed(t, r.publish(folder))
	page := must.Get(os.ReadFile(folder + ".md"))(t)
	for _, want := range []string{"before\n", "\nafter\n", "| 2.5 |", "](benchmarks/idle.svg)", "| what |"} {
		if !strings.Contains(string(page), want) {
			t.Errorf("the page lacks %q: %s", want, page)
		}
	}
	picture, err := os.ReadFile(filepath.Join(folder, "idle.svg"))
	if err != nil || xml.Unmarshal(picture, new(struct{})) != nil || strings.Contains(string(page), "old") {
		t.Errorf("%v %s", err, picture)
	}
	must.Succeed(t, os.WriteFile(folder+".md", []byte("no marks"), 0o600))
	if err := r.publish(folder); err == nil {
		t.Error("a page without marks was written to")
	}
}

func TestQuantile(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		values  []float64
		q, want float64
	}{
		{[]float64{3, 1, 2}, 0.5, 2},
		{[]float64{4, 1, 3, 2}, 0.5, 2},
		{[]float64{7}, 0.99, 7},
		{[]float64{1, 2}, 0.99, 2},
		{[]float64{1, 2}, 0, 1},
	} {
		if got := quantile(test.values, test.q); got != test.want {
			t.Errorf("%v at %v: got %v, want %v", test.values, test.q, got, test.want)
		}
	}
	if got := quantile(nil, 0.5); !math.IsNaN(got) {
		t.Errorf("of nothing: %v", got)
	}
}

func TestTablePrintsMediansAndRatios(t *testing.T) {
	t.Parallel()
	table := newTable("Title", "Method.", "b", "a", "b", "c")
	for _, v := range []float64{30_000, 10, 20_000} {
		table.add("row", "a", 0, v)
	}
	table.add("row", "b", 0, 1000)
	var out bytes.Buffer
	table.write(&out)
	if want := "| row | 20,000 (20×) | 1,000 (1.0×) | – |\n"; !strings.Contains(out.String(), want) {
		t.Errorf("got %s", out.String())
	}
	for value, want := range map[float64]string{1234567.8: "1,234,567.8", 999: "999.0", -1000: "-1,000.0"} {
		if got := number(value, 1); got != want {
			t.Errorf("%v: got %s, want %s", value, got, want)
		}
	}
}

func TestWrongArgumentsAreNamed(t *testing.T) {
	t.Parallel()
	for want, args := range map[string][]string{
		"nonsense": {"--only", "nonsense"}, "--rounds": {"--rounds", "0"}, "surplus": {"surplus"},
	} {
		err := run(context.Background(), args, nil, io.Discard, io.Discard)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v", args, err)
		}
	}
	if err := runPeer(t.Context(), spec{Name: "nobody"}, strings.NewReader(""), io.Discard); err == nil {
		t.Error("a system that does not exist was started")
	}
}

func TestProcessIsRead(t *testing.T) {
	t.Parallel()
	s := must.Get(startSystem(t.Context(), newBench(t), spec{Name: ours}, 1))(t)
	defer s.stop()
	if used, err := s.cpu(); err != nil || used < 0 {
		t.Errorf("cpu: %v %v", used, err)
	}
	if kib, err := s.memory(); err != nil || kib < 1000 {
		t.Errorf("memory of process %s: %v %v", strconv.Itoa(s.cmd.Process.Pid), kib, err)
	}
}

func TestVerdicts(t *testing.T) {
	t.Parallel()
	table := newTable("Paced streams", "Method.", "", ours, r3labs)
	for i := range 3 {
		table.add("even", ours, 1, 100+float64(i)) // 100, 101, 102
		table.add("even", r3labs, 1, 99+float64(i))
		table.add("worse", ours, 1, 200+float64(i))
		table.add("worse", r3labs, 1, 99+float64(i))
	}
	for _, c := range []struct {
		row   string
		limit float64
		want  string
	}{
		{"even", 1.1, met}, {"even", 1, withinSpread}, {"even", 0.9, missed}, {"worse", 1, missed},
	} {
		r := report{}
		r.atMostTimes("CPU", table, c.row, ours, r3labs, c.limit, 2)
		if len(r.Goals) != 1 || r.Goals[0].Verdict != c.want {
			t.Errorf("%s, limit %v: %+v, want %q", c.row, c.limit, r.Goals, c.want)
		}
	}
	for limit, want := range map[float64]string{101: met, 100: withinSpread, 99: missed} {
		r := report{}
		r.atMostMedian("CPU", table, "even", ours, limit, 1, " ms")
		if len(r.Goals) != 1 || r.Goals[0].Verdict != want {
			t.Errorf("limit %v: %+v, want %q", limit, r.Goals, want)
		}
	}
	r := report{}
	r.atMostTimes("CPU", table, "not measured", ours, r3labs, 1, 2)
	r.atMostMedian("CPU", table, "not measured", ours, 1, 2, "")
	if len(r.Goals) != 0 {
		t.Errorf("a goal without a figure: %+v", r.Goals)
	}
}

func TestUndefinedValuesAreSavedAsNull(t *testing.T) {
	t.Parallel()
	chats := newTable("Chats", "Method.", "", ours)
	chats.add("per answer", ours, 1, 2)
	chats.add("per answer", ours, 1, math.Inf(1))
	chats.add("per answer", ours, 1, math.NaN())
	name := filepath.Join(t.TempDir(), "result.json")
	must.Succeed(t, (&report{Sections: []*table{chats}}).save(name))
	text, err := os.ReadFile(name)
	var saved struct {
		Sections []struct {
			Rows []struct{ Values map[string][]*float64 }
		}
	}
	must.Succeed(t, errors.Join(err, json.Unmarshal(text, &saved)))
	if v := saved.Sections[0].Rows[0].Values[ours]; len(v) != 3 || v[0] == nil || *v[0] != 2 || v[1] != nil || v[2] != nil {
		t.Errorf("saved values %v", v)
	}
}
