package chat

import (
	"context"
	"log/slog"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/ngram"
)

// MaxQuery is the maximum length of a query, in characters.
const MaxQuery = 200

const (
	indexDelay       = 10 * time.Second // Before a text is indexed, unless its owner searches.
	indexBatch       = 100              // Texts indexed in one transaction.
	indexPauseFactor = 9                // Between two full batches, how many times as long as the first one took.
	indexPause       = time.Second      // Between two looks for texts to index.
	indexRetry       = 5 * time.Second  // The same after a failure.
	searchBatch      = 50               // Threads whose texts are read at once.
)

// Match is where a search found its words.
type Match struct {
	ngram.Excerpt
	MessageID *uuid.UUID // Nil: in the title.
}

// SearchResult is a thread that matches a search.
type SearchResult struct {
	Thread
	Match Match
}

// Candidate is a thread whose title or messages have all keys of a query. Whether they contain its words is not known
// yet.
type Candidate struct {
	Thread
	InTitle  bool
	Messages []uuid.UUID // Newest first.
}

// CandidateQuery selects candidates.
type CandidateQuery struct {
	ProjectID *uuid.UUID            // As in ThreadFilter.
	Shared    *bool                 // As in ThreadFilter.
	Keys      map[uuid.UUID][]int32 // The keys of the query, by the owner of a thread: each owner has other keys.
}

// CandidateCursor is the end of a page of candidates.
type CandidateCursor struct {
	TouchedAt time.Time
	ID        uuid.UUID
}

// Searcher searches threads by title and by message text, and indexes new texts.
type Searcher struct {
	store  Store
	log    *slog.Logger
	cancel context.CancelFunc
	done   sync.WaitGroup
}

// NewSearcher returns a Searcher. Nothing is indexed in the background before Start.
func NewSearcher(store Store, log *slog.Logger) *Searcher {
	return &Searcher{store: store, log: log, cancel: func() {}}
}

// Start begins to index pending texts, until Stop.
func (s *Searcher) Start() {
	ctx, cancel := context.WithCancel(context.Background())
	s.cancel = cancel
	s.done.Go(func() { s.index(ctx) })
}

// Stop ends the indexing and waits for its goroutine.
func (s *Searcher) Stop() {
	s.cancel()
	s.done.Wait()
}

func (s *Searcher) index(ctx context.Context) {
	for ctx.Err() == nil {
		pause, began := indexPause, time.Now()
		n, err := s.store.IndexPending(ctx, nil, indexDelay, indexBatch)
		switch {
		case err != nil && ctx.Err() == nil:
			s.log.WarnContext(ctx, "new messages will be indexed later", "err", err)
			pause = indexRetry
		case n == indexBatch:
			pause = indexPauseFactor * time.Since(began) // Answers need the database more.
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
		}
	}
}

// Search returns a page of the reader's threads, or of a project's threads that the reader may read, in whose title, or
// in one of whose messages, all words of a query occur, last touched first. The title is preferred to messages, and a
// newer message to older ones.
func (s *Searcher) Search(
	ctx context.Context, reader identity.Owner, query string, filter ThreadFilter, offset, limit int,
) ([]SearchResult, error) {
	if utf8.RuneCountInString(query) > MaxQuery {
		return nil, fault.InvalidField("q", "検索語は%d文字以内で入力してください。", MaxQuery)
	}
	terms := ngram.Terms(query)
	if len(terms) == 0 {
		return nil, fault.InvalidField("q", "検索語を入力してください。")
	}
	owners := []uuid.UUID{reader.UserID}
	if filter.ProjectID != nil {
		var err error
		if owners, err = s.store.ThreadOwners(ctx, reader, *filter.ProjectID); err != nil || len(owners) == 0 {
			return nil, err
		}
	}
	// New messages are found at once. If more are pending, as after a migration, the background indexing catches up.
	if _, err := s.store.IndexPending(ctx, owners, 0, 2*indexBatch); err != nil {
		return nil, err
	}
	wanted := CandidateQuery{
		ProjectID: filter.ProjectID, Shared: filter.Shared, Keys: make(map[uuid.UUID][]int32, len(owners)),
	}
	for _, owner := range owners {
		wanted.Keys[owner] = ngram.QueryKeys(owner[:], terms)
	}
	found := make([]SearchResult, 0, limit)
	var after *CandidateCursor
	for skip := offset; len(found) < limit; {
		// Nearly every candidate contains the words: more are read only if some do not.
		batch := min(skip+limit-len(found), searchBatch)
		page, err := s.store.Candidates(ctx, reader, wanted, after, batch)
		if err != nil {
			return nil, err
		}
		matches, err := s.matches(ctx, reader, terms, page)
		if err != nil {
			return nil, err
		}
		for i, match := range matches {
			switch {
			case match == nil:
			case skip > 0:
				skip--
			case len(found) < limit:
				found = append(found, SearchResult{page[i].Thread, *match})
			}
		}
		if len(page) < batch {
			break
		}
		last := page[len(page)-1]
		after = &CandidateCursor{last.TouchedAt, last.ID}
	}
	return found, nil
}

// matches returns for each candidate where its words are, nil if it does not contain them. Nearly always the first text
// of a candidate contains them, so each round reads one text per candidate.
func (s *Searcher) matches(
	ctx context.Context, reader identity.Owner, terms []string, page []Candidate,
) ([]*Match, error) {
	matches := make([]*Match, len(page))
	for i, c := range page {
		if c.InTitle {
			matches[i] = match(c.Title, nil, terms)
		}
	}
	for round := 0; ; round++ {
		var ids []uuid.UUID
		for i, c := range page {
			if matches[i] == nil && round < len(c.Messages) {
				ids = append(ids, c.Messages[round])
			}
		}
		if len(ids) == 0 {
			return matches, nil
		}
		texts, err := s.store.Texts(ctx, reader, ids)
		if err != nil {
			return nil, err
		}
		for i, c := range page {
			if matches[i] == nil && round < len(c.Messages) {
				matches[i] = match(texts[c.Messages[round]], &c.Messages[round], terms)
			}
		}
	}
}

// match returns where the words of a query are in a text, nil unless all of them occur. Marks of Markdown are left out,
// unless a word occurs only among them, such as in the address of a link.
func match(text string, messageID *uuid.UUID, terms []string) *Match {
	excerpt, ok := ngram.NewExcerpt(stripMarkdown(text), terms)
	if !ok {
		excerpt, ok = ngram.NewExcerpt(text, terms)
	}
	if !ok {
		return nil
	}
	return &Match{Excerpt: excerpt, MessageID: messageID}
}
