package chat

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/answer"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/llm"
	"github.com/tsumugi-ai/tsumugi/internal/runes"
	"github.com/tsumugi-ai/tsumugi/internal/skill"
)

// Grounder selects the sources of an answer before the model is called. It runs within the generation: on the server
// that writes the answer, again after a takeover, and until the context ends. It does not change the request.
type Grounder interface {
	// Ground returns the sources of the answer to a question. tell reports progress; the last state of each kind of
	// step is stored. It must not be called concurrently. An error becomes the failure of the answer, with its detail;
	// the usage is counted in any case.
	Ground(ctx context.Context, req *AnswerRequest, tell func(Step)) (Grounds, error)

	// Estimate returns the approximate number of input tokens of all model calls for an answer about whole documents,
	// before any of them is made. It returns 0 for other answers. It may be less exact if it is at most limit.
	Estimate(ctx context.Context, req *AnswerRequest, limit int) (int, error)
}

// Params are the optional parameters of an answer to a program. The JSON form is the stored form.
type Params struct {
	llm.Params

	// Rounds are the calls of Tools that the program has made since the question, with their results.
	Rounds []ToolRound `json:"rounds,omitempty"`
}

// IsZero reports whether the answer needs no parameters.
func (p Params) IsZero() bool { return p.Params.IsZero() && len(p.Rounds) == 0 }

// hasTools reports whether the model may call tools of the program.
func (p *Params) hasTools() bool { return p != nil && len(p.Tools) > 0 }

// Schema is the schema of a JSON answer.
type Schema = llm.Schema

// ParamRefused is the prefix of failure codes for answers whose model refused one of the Params. The parameter's name
// in the protocol follows.
const ParamRefused = llm.CodeUnsupported

// AnswerRequest is a question with its prompt.
type AnswerRequest struct {
	Owner    identity.Owner
	Skill    skill.Skill
	Question Message
	AnswerID uuid.UUID
	Stored   <-chan struct{} // Closed when the question was stored. Nil before the generation is launched.
	History  []Message       // The earlier messages, oldest first.
	// Prompt is the conversation: the skill's instructions, the history, the question, and the rounds of its
	// parameters.
	Prompt  []llm.Message
	Model   AnswerModel     // The model that answers.
	Project *ProjectContext // The project of the thread; nil for none.
}

// shared reports whether all members of a project read the answer.
func (req *AnswerRequest) shared() bool { return req.Project != nil && req.Project.Shared }

// wantsJSON reports whether the answer must be JSON.
func (req *AnswerRequest) wantsJSON() bool {
	return req.Question.Params != nil && req.Question.Params.Schema != nil
}

// Grounds holds the sources of an answer.
type Grounds struct {
	// Prompt is the prompt for the model.
	Prompt []llm.Message
	// Answer, if not empty, is the whole answer: no model is called.
	Answer string
	// Sources are the passages in the prompt, in the order of their numbers. If there are any, citations in the model's
	// text are normalized, and checked at its end.
	Sources []Source
	// Original is the text of a file to proofread; nil if the text is in the question.
	Original *Original
	// Usage counts the tokens of calls that have not been counted for the answer.
	Usage llm.Usage
}

// Source is a passage or a page in the prompt that the model may cite. Its Citation has no Support yet. Quote is the
// text shown for it; if it is empty, the beginning of the passage is shown. Its JSON form is stored with calls of tools.
type Source struct {
	Citation

	Text string `json:"text"`

	// InProject means that the passage is in a document of the thread's project, which every reader may open.
	InProject bool `json:"in_project,omitempty"`

	// Hidden means that the passage is in a document that the asking person may not open. If the answer cites it, it is
	// shown without ids; otherwise it is not shown.
	Hidden bool `json:"hidden,omitempty"`
}

// noGrounder grounds answers on the conversation only.
type noGrounder struct{}

func (noGrounder) Ground(_ context.Context, req *AnswerRequest, _ func(Step)) (Grounds, error) {
	return Grounds{Prompt: req.Prompt}, nil
}

func (noGrounder) Estimate(context.Context, *AnswerRequest, int) (int, error) { return 0, nil }

// ground selects the sources of an answer, and publishes them.
func (s *Service) ground(ctx context.Context, g *generation) (err error) {
	g.grounds, err = s.grounder.Ground(ctx, g.req, func(step Step) { s.publishStep(g, step) })
	if err != nil {
		for _, step := range slices.Clone(g.steps) {
			if !step.Status.Terminal() {
				step.Status = StatusFailed
				s.publishStep(g, step)
			}
		}
		return err
	}
	g.grounded = true
	if len(g.grounds.Sources) == 0 {
		return nil
	}
	s.ensureLease()
	for _, source := range g.grounds.Sources {
		// The stream is the same for all readers, so it has only sources that all of them may open.
		if g.isPublic(source) {
			g.text.PutSource(streamSource(source.Citation))
		}
	}
	g.setSources(g.grounds.Sources)
	return nil
}

// publishStep publishes a step. It runs in the generation's goroutine.
func (s *Service) publishStep(g *generation, step Step) {
	s.ensureLease()
	g.text.PutStep(streamStep(step))
	i := slices.IndexFunc(g.steps, func(other Step) bool { return other.Kind == step.Kind })
	if i < 0 {
		g.steps = append(g.steps, step)
	} else {
		g.steps[i] = step
	}
}

func passages(sources []Source) []answer.Passage {
	list := make([]answer.Passage, len(sources))
	for i, s := range sources {
		list[i] = answer.Passage{
			Index: s.Index, Filename: s.Filename, Page: s.Page, Locator: s.Locator, Text: s.Text, Site: s.Site,
			Date: s.PublishedOn,
		}
	}
	return list
}

const (
	maxConsulted = 8   // Stored sources that the answer does not cite.
	maxQuote     = 400 // In characters, of a citation's quote.

	// maxCitations bounds the encoded citations of an answer, which are one part of its stream. Quotes are shortened
	// until they fit; if that does not suffice, the lists of unsupported citations are dropped.
	maxCitations = 96 << 10
)

// cite returns the citations of the answer. JSON has none, because [1] is a list in it.
func (g *generation) cite(text string) []Citation {
	if g.req.wantsJSON() {
		text = ""
	}
	return cite(g.allSources(), text)
}

// cite returns the sources cited by an answer, in the order of their numbers, with their support, followed by the best
// other sources.
func cite(sources []Source, text string) []Citation {
	if len(sources) == 0 {
		return nil
	}
	supports := answer.Supports(answer.Check(text, passages(sources)))
	var cited, others []Source
	for _, s := range sources {
		s.Support, s.WeakOccurrences = supports[s.Index].Support, supports[s.Index].Weak
		if s.Hidden {
			s.ChunkEmbeddingID, s.DataSourceID = uuid.Nil, uuid.Nil
		}
		switch {
		case s.Support != "":
			cited = append(cited, s)
		case !s.Hidden:
			others = append(others, s)
		}
	}
	slices.SortStableFunc(others, func(a, b Source) int { return cmp.Compare(b.Score, a.Score) })
	if len(cited) == 0 && answer.IsNoAnswer(text) {
		return nil // No consulted source contains the answer.
	}
	kept := slices.Concat(cited, others[:min(maxConsulted, len(others))])
	list := make([]Citation, len(kept))
	for quote := maxQuote; ; quote /= 2 {
		for i, s := range kept {
			list[i] = s.Citation
			if list[i].Quote = runes.Truncate(cmp.Or(s.Quote, s.Text), quote); quote == 0 {
				list[i].WeakOccurrences = nil
			}
		}
		if encoded, err := json.Marshal(list); err != nil || len(encoded) <= maxCitations || quote == 0 {
			return list
		}
	}
}
