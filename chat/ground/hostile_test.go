package ground_test

import (
	"encoding/json"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/chat/ground"
	"github.com/tsumugi-ai/tsumugi/internal/answer"
	"github.com/tsumugi-ai/tsumugi/internal/llm"
	"github.com/tsumugi-ai/tsumugi/internal/llm/llmtest"
	"github.com/tsumugi-ai/tsumugi/internal/llm/offline"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// hostile is a document that contains instructions, closes fences, cites missing sources or hides text. Each document
// also contains the length of the leave.
type hostile struct{ Name, Text string }

func hostileDocuments(t *testing.T) (list []hostile) {
	t.Helper()
	content := must.Get(os.ReadFile("testdata/hostile.json"))(t)
	if err := json.Unmarshal(content, &list); err != nil || len(list) != 30 {
		t.Fatalf("%d documents, %v", len(list), err)
	}
	return list
}

var (
	fenced = regexp.MustCompile(`^(?:<source index="[0-9]+" filename="[^"<>\n]*" page="1"(?: locator="[^"<>\n]*")?>\n` +
		`[^<>]*\n</source>\n)+\n(.*)$`)
	cited = regexp.MustCompile(`\[([0-9]+)\]`)
)

// partTypes are the distinct chunk types of an answer from documents, in order.
var partTypes = []string{
	"start", "data-step", "source-document", "data-citations", "text-start", "text-delta", "text-end",
	"finish",
}

// TestR83_HostileDocuments asks about each hostile document together with an honest one. The prompt keeps its
// structure, and the answer keeps its parts and cites these documents only. It uses a model with a fixed answer and the
// offline engine, which quotes its sources. Neither fetches any address.
func TestR83_HostileDocuments(t *testing.T) {
	t.Parallel()
	engine := must.Get(llm.NewClient(llm.Config{
		BaseURL: offline.BaseURL, Model: offline.ModelName, Transport: offline.NewTransport(offline.Config{}),
	}))(t)
	const question = "年次有給休暇は何日ですか"
	for name, model := range map[string]llm.Model{
		"a model": llmtest.Say("年次有給休暇は20日です[", "1]。"), "the offline engine": engine,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, ground.Config{}, model)
			f.start()
			honest := f.read("就業規則.md", "年次有給休暇は20日とする。\n")
			f.ask(f.thread("文書に質問"), question, honest)
			system := f.lastRequest().Messages[0]
			for _, d := range hostileDocuments(t) {
				id := f.read(d.Name, d.Text)
				got := f.ask(f.thread("文書に質問"), question, honest, id)
				f.checkPrompt(d, system, question)
				f.checkAnswer(d, got, honest, id)
			}
		})
	}
}

// checkPrompt checks that the model received the usual instructions, and each passage in its fence.
func (f *fixture) checkPrompt(d hostile, system llm.Message, question string) {
	f.t.Helper()
	messages := f.lastRequest().Messages
	if len(messages) != 2 || !reflect.DeepEqual(messages[0], system) || messages[1].Role != llm.RoleUser {
		f.t.Fatalf("%s changes the messages: %+v", d.Name, messages)
	}
	match := fenced.FindStringSubmatch(messages[1].Content)
	if match == nil || match[1] != question {
		f.t.Errorf("%s changes the structure of the prompt:\n%s", d.Name, messages[1].Content)
	}
	if strings.ContainsFunc(messages[1].Content, func(r rune) bool {
		return unicode.Is(unicode.Cf, r) || unicode.IsControl(r) && r != '\n' && r != '\t'
	}) {
		f.t.Errorf("%s hides characters in the prompt: %q", d.Name, messages[1].Content)
	}
}

// checkAnswer checks the parts and citations of an answer.
func (f *fixture) checkAnswer(d hostile, got chat.Message, documents ...uuid.UUID) {
	f.t.Helper()
	chunks := f.streamed(got.ID)
	var types, sources []string
	for _, c := range chunks {
		if c.Type == "data-title" { // The title may arrive after the end of the stream.
			continue
		}
		if len(types) == 0 || types[len(types)-1] != c.Type {
			types = append(types, c.Type)
		}
		if c.Type == "source-document" {
			sources = append(sources, c.SourceID)
		}
	}
	if got.Status != chat.StatusSuccess || !slices.Equal(types, partTypes) || len(sources) != len(got.Citations) {
		f.t.Errorf("%s: the parts are %q, %d sources, %d citations", d.Name, types, len(sources), len(got.Citations))
	}
	known := make(map[string]bool)
	for _, c := range got.Citations {
		if !slices.Contains(documents, c.DataSourceID) {
			f.t.Errorf("%s: a citation of another document: %+v", d.Name, c)
		}
		if known[strconv.Itoa(c.Index)] = c.Support != ""; c.Support == answer.Weak {
			f.t.Errorf("%s: %+v", d.Name, c)
		}
	}
	said := strings.NewReplacer(`\[`, "", `\]`, "", `\<`, "", `\|`, "").Replace(got.Content)
	for _, match := range cited.FindAllStringSubmatch(said, -1) {
		if !known[match[1]] {
			f.t.Errorf("%s: %s is no citation:\n%s", d.Name, match[0], got.Content)
		}
	}
	if strings.Contains(said, "](") || strings.Contains(said, "<") {
		f.t.Errorf("%s: a link or markup in the answer:\n%s", d.Name, got.Content)
	}
	if !strings.Contains(got.Content, "20日") {
		f.t.Errorf("%s: the answer is\n%s", d.Name, got.Content)
	}
}
