package datasource

import (
	"cmp"
	"context"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/datasource/extract"
	"github.com/tsumugi-ai/tsumugi/internal/datasource/index"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/ngram"
	"github.com/tsumugi-ai/tsumugi/internal/timeout"
)

const (
	projectCandidates = 300    // Passages of a project whose scores are computed.
	maxPostings       = 50_000 // Index entries that a search in a project reads to find them, approximately.

	leastScore = 0.3 // Smallest score of a match, as a fraction of the best one.

	projectTurn     = 1000        // Passages indexed or removed in one transaction.
	projectInterval = time.Second // Between two looks for sources to index.
)

// ProjectIndex describes the index of a project for a query.
type ProjectIndex struct {
	Passages int
	Tokens   int64 // Total length of the passages.
	Having   []int // For each key of the query, the estimated number of passages with it.
}

// CandidateQuery selects passages of a project: those with the highest scores, if they contained each of their keys
// once.
type CandidateQuery struct {
	Keys                   []int32
	Weights                []float64 // Of the keys.
	NormBase, NormPerToken float64   // See index.Statistics.
	Limit                  int
}

// KeyPassages returns the keys of a data source's passages in the index of a project.
func KeyPassages(projectID uuid.UUID, filename string, chunks []Chunk) []index.KeyedPassage {
	return index.KeyPassages(projectID[:], title(filename), indexedPassages(chunks))
}

// title returns the indexed title of a data source.
func title(filename string) string { return strings.TrimSuffix(filename, path.Ext(filename)) }

// indexedPassages returns the indexed texts of chunks.
func indexedPassages(chunks []Chunk) []index.Passage {
	passages := make([]index.Passage, len(chunks))
	for i, c := range chunks {
		passages[i] = index.Passage{Text: c.Text, Headings: extract.Headings(c.Locator)}
	}
	return passages
}

// indexProjects indexes the passages of projects until all are indexed. It rests between two turns as long as a turn
// takes, because answers need the database more.
func (s *Service) indexProjects(ctx context.Context) error {
	for {
		began := time.Now()
		n, err := s.indexTurn(ctx)
		if err != nil || n == 0 {
			return err
		}
		select {
		case <-time.After(time.Since(began)):
		case <-ctx.Done():
			return nil
		}
	}
}

func (s *Service) indexTurn(ctx context.Context) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout.Store)
	defer cancel()
	return s.store.IndexProjects(ctx, projectTurn)
}

// SmallProject returns the data sources of a project if Retrieve can search all of them at once. ok is false if there are
// more than MaxSearchSources. It returns fault.NotFound if the actor has no role in the project.
func (s *Service) SmallProject(ctx context.Context, actor identity.Owner, projectID uuid.UUID) (
	sources []Source, ok bool, _ error,
) {
	sources, err := s.store.FindProjectSources(ctx, actor, projectID, MaxSearchSources+1)
	if err != nil || len(sources) > MaxSearchSources {
		return nil, false, err
	}
	return sources, true, nil
}

// SearchProject returns the k best passages of a project's data sources for a query, best first. It returns
// fault.NotFound if the actor has no role in the project.
//
// An index in the database finds candidates: passages with the rarest tokens of the query. Their scores are the same as
// those of Retrieve over all passages, except that the numbers of passages with frequent tokens are estimates. If all
// candidates have vectors, these change their order. Passages are found a moment after their data source was read or
// added to the project.
func (s *Service) SearchProject(
	ctx context.Context, actor identity.Owner, projectID uuid.UUID, query string, k int,
) ([]RetrievedPassage, error) {
	meaning := s.embedder.ask(ctx, query)
	defer meaning.end()
	q := index.NewQuery(query)
	keys := q.Keys(projectID[:])
	found, err := s.store.FindProjectIndex(ctx, actor, projectID, keys)
	if err != nil || len(q) == 0 || found.Passages == 0 {
		return nil, err
	}
	statistics := index.Statistics(found)
	sources, ordinals, err := s.findCandidates(ctx, actor, projectID, q, keys, statistics)
	if err != nil {
		return nil, err
	}
	passages, err := s.store.FindProjectPassages(ctx, actor, projectID, sources, ordinals)
	if err != nil {
		return nil, err
	}
	candidates, ids := make([]index.Candidate, len(passages)), make([]uuid.UUID, len(passages))
	for i, p := range passages {
		candidates[i] = index.Candidate{
			Title: title(p.Filename), Passage: index.Passage{Text: p.Text, Headings: extract.Headings(p.Locator)},
		}
		ids[i] = p.ID
	}
	scores := [][]float64{statistics.Scores(q, candidates)}
	meaning.fuse(scores, func(ctx context.Context, modelID int) ([]index.Vectors, bool, error) {
		vectors, ok, err := s.store.FindPassageVectors(ctx, actor, projectID, ids, modelID)
		return []index.Vectors{vectors}, ok, err
	})
	hits := index.Best(scores, k)
	for i, h := range hits {
		p := passages[h.Passage]
		hits[i].Document, hits[i].Passage = slices.Index(sources, p.SourceID), p.Ordinal
	}
	return describe(sources, hits, func(sources []uuid.UUID, ordinals [][]int) ([]Passage, error) {
		return s.store.FindProjectPassages(ctx, actor, projectID, sources, ordinals)
	})
}

// SearchProjectMatches is SearchProject for readers: it returns the passages with excerpts, without those whose scores
// are far below the best one.
func (s *Service) SearchProjectMatches(
	ctx context.Context, actor identity.Owner, projectID uuid.UUID, query string, k int,
) ([]Match, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout.Store)
	defer cancel()
	passages, err := s.SearchProject(ctx, actor, projectID, query, k)
	if err != nil {
		return nil, err
	}
	var matches []Match
	for _, p := range passages {
		if p.Score >= leastScore*passages[0].Score {
			matches = append(matches, Match{Passage: p.Passage, Excerpt: ngram.NewRankedExcerpt(p.Text, query)})
		}
	}
	return matches, nil
}

// findCandidates finds candidates by the rarest keys of a query that are in the project. It replaces the
// estimates of these keys by the numbers of passages.
func (s *Service) findCandidates(ctx context.Context, actor identity.Owner, projectID uuid.UUID, q index.Query,
	keys []int32, statistics index.Statistics,
) ([]uuid.UUID, [][]int, error) {
	order := make([]int, len(keys))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(statistics.Having[a], statistics.Having[b]) })
	weights := statistics.Weights(q)
	query := CandidateQuery{Limit: projectCandidates}
	query.NormBase, query.NormPerToken = statistics.Norms()
	left := maxPostings
	for i, at := range order {
		query.Keys, query.Weights = append(query.Keys, keys[at]), append(query.Weights, weights[at])
		left -= statistics.Having[at]
		if i+1 < len(order) && left >= statistics.Having[order[i+1]] {
			continue
		}
		sources, ordinals, having, err := s.store.FindCandidates(ctx, actor, projectID, query)
		if err != nil {
			return nil, nil, err
		}
		for i, n := range having {
			statistics.Having[order[i]] = n
		}
		if len(sources) > 0 {
			return sources, ordinals, nil
		}
		// No passage contains these keys. The next one is read even if it is frequent.
	}
	return nil, nil, nil
}
