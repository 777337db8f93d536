package llm_test

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/llm"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// said is the result of reading a response.
type said struct {
	reasoning, text string
	finish          llm.FinishReason // "" for a failed answer.
	code            fault.Code       // "" for a complete answer.
	input, output   int              // 0 if the server does not report it.
}

// servers are example responses in the documented form of each server; see testdata/servers/README.md.
var servers = map[string]said{
	"openai.sse":         {"", "はい、分かりました。", llm.FinishStop, "", 19, 10},
	"openai-refusal.sse": {"", "申し訳ありませんが、お手伝いできません。", llm.FinishStop, "", 0, 0},
	"openai-error.sse":   {"", "はい、", "", llm.CodeInterrupted, 0, 0},

	"azure.sse":              {"", "はい、分かりました。", llm.FinishStop, "", 19, 10},
	"azure-async-filter.sse": {"", "はい、分かりました。", llm.FinishStop, "", 0, 0},
	"azure-late-filter.sse":  {"", "はい、", "", llm.CodeFiltered, 0, 0},
	"azure-filter.sse":       {"", "はい、", "", llm.CodeFiltered, 0, 0},

	"vllm-reasoning.sse":  {"利用者は有給休暇を尋ねている。\n", "総務部へ申請します。", llm.FinishStop, "", 20, 30},
	"vllm-both-names.sse": {"考え中。", "答え。", llm.FinishStop, "", 0, 0},
	"vllm-abort.sse":      {"", "途中", "", llm.CodeInterrupted, 0, 0},
	"vllm-error.sse":      {"", "途中", "", llm.CodeInterrupted, 0, 0},
	"vllm-error-old.sse":  {"", "", "", llm.CodeContextLength, 0, 0},

	"ollama-reasoning.sse": {"利用者は挨拶している。", "こんにちは。", llm.FinishStop, "", 11, 22},
	"ollama-think.sse":     {"挨拶だ。\n", "こんにちは。", llm.FinishStop, "", 0, 0},
	"ollama-error.sse":     {"", "途中", "", llm.CodeInterrupted, 0, 0},

	"llamacpp.sse":                 {"考え中。", "答え。", llm.FinishStop, "", 5, 6},
	"llamacpp-error.sse":           {"", "途中", "", llm.CodeInterrupted, 0, 0},
	"llamacpp-error-line.sse":      {"", "", "", llm.CodeContextLength, 0, 0},
	"llamacpp-error-line-late.sse": {"", "途中", "", llm.CodeInterrupted, 0, 0},

	"mistral-thinking.sse":   {"利用者は挨拶している。", "こんにちは。", llm.FinishStop, "", 10, 100},
	"mistral-references.sse": {"", "規程にあります。", llm.FinishStop, "", 0, 0},
	"mistral-length.sse":     {"", "途中", llm.FinishLength, "", 0, 0},

	"deepseek-reasoner.sse":         {"九と十一を比べる。", "九.一一は小さいです。", llm.FinishStop, "", 15, 260},
	"deepseek-no-resource.sse":      {"", "途中", "", llm.CodeInterrupted, 0, 0},
	"deepseek-reasoning-only.sse":   {"考えただけ。", "", llm.FinishStop, llm.CodeBadResponse, 0, 0},
	"deepseek-reasoning-length.sse": {"考えすぎた", "", llm.FinishLength, llm.CodeBadResponse, 0, 0},

	"gemini-thoughts.sse":   {"挨拶だと考えた。", "こんにちは。", llm.FinishStop, "", 4, 8},
	"gemini-safety.sse":     {"", "途中", "", llm.CodeFiltered, 0, 0},
	"gemini-recitation.sse": {"", "途中", "", llm.CodeFiltered, 0, 0},
	"gemini-max-tokens.sse": {"", "途中", llm.FinishLength, "", 0, 0},
	"gemini-error.json":     {"", "", "", llm.CodeRateLimited, 0, 0},

	"lmstudio.sse":            {"挨拶。", "こんにちは。", llm.FinishStop, "", 0, 0},
	"lmstudio-error.sse":      {"", "途中", "", llm.CodeInterrupted, 0, 0},
	"lmstudio-error-text.sse": {"", "", "", llm.CodeUnavailable, 0, 0},

	"openrouter.sse":            {"挨拶だ。", "こんにちは。", llm.FinishStop, "", 7, 9},
	"openrouter-details.sse":    {"挨拶だ。", "こんにちは。", llm.FinishStop, "", 0, 0},
	"openrouter-error.sse":      {"", "途中", "", llm.CodeInterrupted, 0, 0},
	"openrouter-no-credits.sse": {"", "", "", llm.CodeQuota, 0, 0},

	"anthropic.sse":            {"", "こんにちは。", llm.FinishStop, "", 8, 12},
	"anthropic-end-turn.sse":   {"", "こんにちは。", llm.FinishStop, "", 0, 0},
	"anthropic-overloaded.sse": {"", "途中", "", llm.CodeInterrupted, 0, 0},

	"form-cr-only.sse":        {"", "答えです。", llm.FinishStop, "", 0, 0},
	"form-crlf.sse":           {"", "答えです。", llm.FinishStop, "", 0, 0},
	"form-bom.sse":            {"", "答えです。", llm.FinishStop, "", 0, 0},
	"form-multi-line.sse":     {"", "答えです。", llm.FinishStop, "", 0, 0},
	"form-no-blank-lines.sse": {"", "答えです。", llm.FinishStop, "", 0, 0},
	"form-bare-error.sse":     {"", "途中", "", llm.CodeInterrupted, 0, 0},
}

// recorded returns the response stored in a file.
func recorded(t testing.TB, name string) (contentType string, body []byte) {
	t.Helper()
	body = must.Get(os.ReadFile(filepath.Join("testdata", "servers", name)))(t)
	if strings.HasSuffix(name, ".json") {
		return "application/json", body
	}
	return "text/event-stream", body
}

// askAll returns a model's answer with its reasoning. The reasoning must precede the text.
func askAll(t testing.TB, model llm.Model) (said, error) {
	t.Helper()
	var got said
	req := question()
	req.Reasoning = func(text string) {
		if text == "" || got.text != "" {
			t.Errorf("reasoning %q after text %q", text, got.text)
		}
		got.reasoning += text
	}
	result, err := model.Stream(t.Context(), req, func(text string) { got.text += text })
	got.finish, got.code = result.FinishReason, fault.CodeOf(err)
	got.input, got.output = result.Usage.InputTokens, result.Usage.OutputTokens
	return got, err
}

func TestRecordedServers(t *testing.T) {
	t.Parallel()
	files := must.Get(filepath.Glob("testdata/servers/*.*"))(t)
	for _, file := range files {
		if name := filepath.Base(file); name != "README.md" && servers[name] == (said{}) {
			t.Errorf("%s is not in the table", name)
		}
	}
	for name, want := range servers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			kind, body := recorded(t, name)
			// In one read, and byte by byte, because a read may end inside a line, a character or a tag.
			for _, reader := range []io.Reader{bytes.NewReader(body), iotest.OneByteReader(bytes.NewReader(body))} {
				client := newClient(t, llm.Config{MaxRetries: -1, Transport: respondOnce(kind, reader)})
				got, err := askAll(t, client)
				wantCode(t, err, want.code)
				if want.input == 0 {
					got.input, got.output = 0, 0 // Estimated.
				}
				if got != want {
					t.Errorf("got  %+v\nwant %+v", got, want)
				}
			}
		})
	}
}
