package datasource

import (
	"context"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/datasource/index"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/ngram"
)

// MaxQuery is the largest length of a query for the list, in characters.
const MaxQuery = 100

// Candidates to check in each data source: the first ones, which nearly always decide, and all if none of these matches.
const (
	firstCandidates = 5
	maxCandidates   = 500
	maxLater        = 5000 // Candidates after the first ones, in all data sources.
)

// ListItem is a data source in a list.
type ListItem struct {
	Source
	Match *Match // The first matching passage, nil if the name matches.
}

// Match is a passage that matches a search.
type Match struct {
	Passage
	ngram.Excerpt
}

// List returns a page of a person's data sources, newest first. With a query, it returns only those that have all words
// of the query in their name, or in one of their passages.
func (s *Service) List(ctx context.Context, owner identity.Owner, query string, offset, limit int) ([]ListItem, error) {
	terms := ngram.Terms(query)
	if len(terms) == 0 {
		sources, err := s.store.ListSources(ctx, owner, offset, limit)
		return listed(sources), err
	}
	sources, err := s.store.ListSources(ctx, owner, 0, MaxSources)
	if err != nil {
		return nil, err
	}
	var unnamed []uuid.UUID
	for _, source := range sources {
		if !hasTerms(source.Filename, terms) {
			unnamed = append(unnamed, source.ID)
		}
	}
	saying, err := s.firstMatches(ctx, owner, unnamed, terms)
	if err != nil {
		return nil, err
	}
	all := listed(sources)
	for i, l := range all {
		all[i].Match = saying[l.ID]
	}
	all = slices.DeleteFunc(all, func(l ListItem) bool { return l.Match == nil && slices.Contains(unnamed, l.ID) })
	from := min(offset, len(all))
	return all[from:min(from+limit, len(all))], nil
}

func listed(sources []Source) []ListItem {
	list := make([]ListItem, len(sources))
	for i, source := range sources {
		list[i].Source = source
	}
	return list
}

// hasTerms reports whether a text contains all terms, which must be folded.
func hasTerms(text string, terms []string) bool {
	folded := ngram.Fold(text).String()
	return !slices.ContainsFunc(terms, func(term string) bool { return !strings.Contains(folded, term) })
}

// firstMatches returns the first passage with all terms for each data source that has one. The index provides
// candidates, and their texts decide.
func (s *Service) firstMatches(
	ctx context.Context, owner identity.Owner, ids []uuid.UUID, terms []string,
) (map[uuid.UUID]*Match, error) {
	query := index.NewQuery(strings.Join(terms, " "))
	if len(ids) == 0 || len(query) == 0 {
		return nil, nil
	}
	opened, err := s.openIndexes(ctx, owner, ids, query)
	if err != nil {
		return nil, err
	}
	candidates, err := opened.collection().MatchAll(query, maxCandidates)
	if err != nil {
		return nil, err
	}
	saying := make(map[uuid.UUID]*Match)
	check := func(from, to, limit int) error {
		var sources []uuid.UUID
		var ordinals [][]int
		for i, list := range candidates {
			if n := min(len(list), to) - from; n > 0 && limit > 0 && saying[opened.of[i].ID] == nil {
				n = min(n, limit)
				limit -= n
				sources, ordinals = append(sources, opened.of[i].ID), append(ordinals, list[from:from+n])
			}
		}
		passages, err := s.store.FindPassages(ctx, owner, sources, ordinals)
		addMatches(saying, passages, terms)
		return err
	}
	if err = check(0, firstCandidates, len(candidates)*firstCandidates); err == nil {
		err = check(firstCandidates, maxCandidates, maxLater)
	}
	return saying, err
}

// addMatches adds the first passage with all terms of each data source that has none yet.
func addMatches(saying map[uuid.UUID]*Match, passages []Passage, terms []string) {
	for _, p := range passages {
		if saying[p.SourceID] != nil {
			continue
		}
		if excerpt, ok := ngram.NewExcerpt(p.Text, terms); ok {
			saying[p.SourceID] = &Match{Passage: p, Excerpt: excerpt}
		}
	}
}
