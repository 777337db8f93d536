package offline

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	openai "github.com/sashabaranov/go-openai"

	"github.com/tsumugi-ai/tsumugi/internal/llm"
)

// The engine shows how tools are used: it calculates an expression in the question, or looks up a date, and answers with
// the results.
var (
	expression = regexp.MustCompile(`[(（]*[\d０-９][\d０-９,，.．(（）)千百万億兆円%％\s]*(?:[-+*/×÷＋−＊／][\d０-９,，.．(（）)千百万億兆円%％\s]+)+`)
	aboutDates = regexp.MustCompile(`今日|本日|明日|昨日|曜日|祝日|営業日|和暦|年度`)
	date       = regexp.MustCompile(`\d{4}[-/年]\d{1,2}[-/月]\d{1,2}日?|(?:令和|平成|昭和)(?:\d{1,2}|元)年\d{1,2}月\d{1,2}日`)
)

// toolCall returns the call of a tool for a question, or nil.
func (r request) toolCall(question string) *openai.ToolCall {
	offers := func(name string) bool {
		return slices.ContainsFunc(r.Tools, func(t openai.Tool) bool { return t.Function != nil && t.Function.Name == name })
	}
	if r.ToolChoice == string(llm.ToolNone) {
		return nil
	}
	name, arguments := "", map[string]string{}
	switch found := expression.FindString(question); {
	case found != "" && offers("calculate"):
		name, arguments = "calculate", map[string]string{"expression": strings.TrimSpace(found)}
	case aboutDates.MatchString(question) && offers("calendar"):
		name = "calendar"
		if found := date.FindString(question); found != "" {
			arguments["date"] = found
		}
	default:
		return nil
	}
	encoded, _ := json.Marshal(arguments) // A map of strings.
	return &openai.ToolCall{
		Index: new(0), ID: "offlinetool", Type: openai.ToolTypeFunction,
		Function: openai.FunctionCall{Name: name, Arguments: string(encoded)},
	}
}

// toolResults returns the answer to a conversation that ends with results of tools, or "".
func toolResults(messages []llm.Message) string {
	var results []string
	for _, m := range slices.Backward(messages) {
		if m.Role != llm.RoleTool {
			break
		}
		results = append([]string{"> " + strings.ReplaceAll(strings.TrimSpace(m.Content), "\n", "\n> ")}, results...)
	}
	if len(results) == 0 {
		return ""
	}
	return "ツールの結果は、次のとおりです。\n\n" + strings.Join(results, "\n\n")
}
