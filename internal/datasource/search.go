package datasource

import (
	"context"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/datasource/index"
	"github.com/tsumugi-ai/tsumugi/internal/ngram"
)

// MaxQuery bounds what is searched for in the list, in characters.
const MaxQuery = 100

// lookedAt is how many passages of a data source are looked at that may have all words.
const lookedAt = 5

// List returns a page of a person's data sources, newest first: all, or those that have every word of a query in their
// name or in one of their passages.
func (s *Service) List(ctx context.Context, owner Owner, query string, offset, limit int) ([]Source, error) {
	terms := ngram.Terms(query)
	if len(terms) == 0 {
		return s.store.ListSources(ctx, owner, offset, limit)
	}
	all, err := s.store.ListSources(ctx, owner, 0, MaxSources)
	if err != nil {
		return nil, err
	}
	var unnamed []uuid.UUID
	for _, source := range all {
		if !hasTerms(source.Filename, terms) {
			unnamed = append(unnamed, source.ID)
		}
	}
	saying, err := s.sayingAll(ctx, owner, unnamed, terms)
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(source Source) bool {
		return slices.Contains(unnamed, source.ID) &&
			!saying[source.ID]
	})
	from := min(offset, len(all))
	return all[from:min(from+limit, len(all))], nil
}

// hasTerms reports whether a text has all terms, which are folded.
func hasTerms(text string, terms []string) bool {
	folded := ngram.Fold(text).String()
	return !slices.ContainsFunc(terms, func(term string) bool { return !strings.Contains(folded, term) })
}

// sayingAll returns those of some data sources that have all terms in one passage: the index tells which may, and their
// texts whether they do.
func (s *Service) sayingAll(ctx context.Context, owner Owner, ids []uuid.UUID, terms []string) (map[uuid.UUID]bool,
	error,
) {
	query := index.NewQuery(strings.Join(terms, " "))
	if len(ids) == 0 || len(query) == 0 {
		return nil, nil
	}
	opened, err := s.openIndexes(ctx, owner, ids, query)
	if err != nil {
		return nil, err
	}
	candidates, err := opened.collection().Having(query, lookedAt)
	if err != nil {
		return nil, err
	}
	var sources []uuid.UUID
	var ordinals [][]int
	for i, list := range candidates {
		if len(list) > 0 {
			sources, ordinals = append(sources, opened.of[i].ID), append(ordinals, list)
		}
	}
	passages, err := s.store.FindPassages(ctx, owner, sources, ordinals)
	if err != nil {
		return nil, err
	}
	saying := make(map[uuid.UUID]bool)
	for _, p := range passages {
		if !saying[p.SourceID] && hasTerms(p.Text, terms) {
			saying[p.SourceID] = true
		}
	}
	return saying, nil
}
