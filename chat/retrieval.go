package chat

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/answer"
	"github.com/tsumugi-ai/tsumugi/internal/llm"
	"github.com/tsumugi-ai/tsumugi/internal/runes"
	"github.com/tsumugi-ai/tsumugi/internal/tool"
)

// Tools may find further sources while an answer is written. These sources are numbered in order of completion of their
// calls, after the sources of the answer's grounds. They are stored with their call: a later run has the same numbers.

// SourceTools returns the tools of the answer's skill that find sources and are available for the answer. Their results
// have sources without numbers: see tool.Result. sources returns the sources of the answer so far.
type SourceTools func(req *AnswerRequest, sources func() []Source) []tool.Tool

// HasTool reports whether the answer may call a tool of its skill.
func (req *AnswerRequest) HasTool(name string) bool {
	return slices.Contains(req.Skill.Tools, name) && !req.Proofreads() && req.Question.Params == nil
}

// maxFound bounds the sources of one call.
const maxFound = 40

// allSources returns the sources of the answer in the order of their numbers: those of its grounds, and those found by
// tools. It may be called from any goroutine.
func (g *generation) allSources() []Source {
	if list := g.sources.Load(); list != nil {
		return *list
	}
	return nil
}

// setSources sets the sources of the answer, and the guard for the citations in its next text.
func (g *generation) setSources(sources []Source) {
	g.sources.Store(&sources)
	if len(sources) > 0 && !g.req.wantsJSON() {
		g.guard = answer.NewCitationNormalizer(passages(sources))
	}
}

// isPublic reports whether all readers of the answer may open a source.
func (g *generation) isPublic(source Source) bool {
	return !source.Hidden && (!g.req.shared() || source.InProject || source.URL != "")
}

// addFound adds the sources found by a call to the answer, and to the call. A source that was found before keeps its
// number.
func (g *generation) addFound(call *ToolCall, found []Source, note string) {
	all := slices.Clone(g.allSources())
	next := 1
	if len(all) > 0 {
		next = all[len(all)-1].Index + 1
	}
	var known []int
	size := 0
	for _, source := range found[:min(len(found), maxFound)] {
		i := indexOfSource(all, source)
		switch {
		case i >= 0 && strings.Contains(all[i].Text, source.Text):
			known = append(known, all[i].Index)
			continue
		case i >= 0:
			source.Index = all[i].Index
		default:
			source.Index = next
		}
		if source, size = withinResult(source, size); source.Text == "" {
			break
		}
		if i >= 0 {
			all[i].Text += moreText(source)
		} else {
			all, next = append(all, source), next+1
		}
		call.Sources = append(call.Sources, source)
	}
	g.setSources(all)
	call.Result = answer.FoundSources(passages(call.Sources), known, note)
	call.Summary = g.summary(call.Sources, known, note)
}

// moreText returns the text of a source to be added to that of the same source.
func moreText(source Source) string { return "\n\n……\n\n" + source.Text }

func indexOfSource(list []Source, source Source) int {
	return slices.IndexFunc(list, func(s Source) bool { return s.ChunkEmbeddingID == source.ChunkEmbeddingID })
}

// withinResult shortens the text of a source so that the result of its call is not longer than maxToolResult. size is
// the length of the result so far, and then with the source.
func withinResult(source Source, size int) (Source, int) {
	const most = maxToolResult - 4<<10 // The rest is for the notes.
	length := func() int { return len(answer.Sources(passages([]Source{source}))) }
	n := length()
	if left := most - size; n > left {
		// A character may be escaped by five.
		source.Text = runes.FirstBytes(source.Text, max(left-(n-len(source.Text)), 0)/5)
		n = length()
	}
	return source, size + n
}

// summary describes the result of a call to people. It names only sources that all readers may open.
func (g *generation) summary(found []Source, known []int, note string) string {
	var lines []string
	others := 0
	for _, source := range g.allSources() {
		given := slices.ContainsFunc(found, func(s Source) bool { return s.Index == source.Index })
		switch {
		case !given && !slices.Contains(known, source.Index):
			continue
		case !g.isPublic(source):
			others++
			continue
		}
		line := fmt.Sprintf("[%d] %s", source.Index, source.Filename)
		switch {
		case source.Site != "":
			line += "（" + source.Site + "）"
		case source.Page > 0:
			line += fmt.Sprintf("（%dページ）", source.Page)
		case source.Locator != "":
			line += "（" + source.Locator + "）"
		}
		lines = append(lines, line)
	}
	if others > 0 {
		lines = append(lines, fmt.Sprintf("ほか%d件", others))
	}
	if note != "" {
		lines = append(lines, note)
	}
	return strings.Join(lines, "\n")
}

// restoreFound adds the sources that the calls of an earlier run have found, with their numbers.
func (g *generation) restoreFound() {
	all := slices.Clone(g.grounds.Sources)
	for _, round := range g.rounds {
		for _, call := range round.Calls {
			for _, source := range call.Sources {
				if i := indexOfSource(all, source); i >= 0 {
					all[i].Text += moreText(source)
				} else {
					all = append(all, source)
				}
			}
		}
	}
	if len(all) > len(g.grounds.Sources) {
		slices.SortStableFunc(all, func(a, b Source) int { return cmp.Compare(a.Index, b.Index) })
		g.setSources(all)
	}
}

// putFound publishes the sources that a call has found.
func (g *generation) putFound(call ToolCall) {
	if len(call.Sources) == 0 {
		return
	}
	published := g.text.Sources()
	for _, source := range call.Sources {
		if g.isPublic(source) && !slices.Contains(published, source.ChunkEmbeddingID.String()) {
			g.text.PutSource(streamSource(source.Citation))
		}
	}
}

// withResultInstructions returns messages whose system message has the rules for results of tools.
func withResultInstructions(messages []llm.Message, tools []tool.Tool) []llm.Message {
	messages = slices.Clone(messages)
	messages[0].Content += answer.ResultInstructions
	if slices.ContainsFunc(tools, findsSources) {
		messages[0].Content += answer.FoundInstructions
	}
	return messages
}

func findsSources(t tool.Tool) bool {
	return slices.Contains([]string{tool.SearchDocuments, tool.SearchWeb, tool.ReadPage}, t.Name)
}

// take sets the result of a call.
func (g *generation) take(call *ToolCall, result tool.Result) {
	call.Untrusted = result.Untrusted
	text := runes.FirstBytes(result.Text, maxToolResult) // Before the whole text is checked.
	text = runes.FirstBytes(withoutNUL(strings.ToValidUTF8(text, "\uFFFD")), maxToolResult)
	if found, ok := result.Found.([]Source); ok {
		g.addFound(call, found, text)
		return
	}
	call.Result = text
}

// forModel returns the result of a call for the model.
func (c ToolCall) forModel() string {
	text := c.Result
	if c.Error != "" {
		text = "エラー: " + c.Error
	}
	if c.Untrusted && len(c.Sources) == 0 && c.Summary == "" {
		return answer.FenceResult(c.Name, text, maxToolResult)
	}
	return text
}

// hasFound reports whether a call of the rounds has found a source.
func hasFound(rounds []ToolRound, id uuid.UUID) bool {
	for _, round := range rounds {
		for _, call := range round.Calls {
			if indexOfSource(call.Sources, Source{Citation: Citation{ChunkEmbeddingID: id}}) >= 0 {
				return true
			}
		}
	}
	return false
}
