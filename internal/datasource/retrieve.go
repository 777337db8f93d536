package datasource

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/datasource/index"
	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/timeout"
)

// MaxSearchSources is the largest number of data sources of one search, and of a thread.
const MaxSearchSources = 20

// neighbour is the difference between the ordinals of adjacent passages.
const neighbour = 1

// RetrievedPassage is a passage found by a search, and its neighbours.
type RetrievedPassage struct {
	Passage
	Score         float64
	Before, After *Passage // Nil at the beginning and the end of the data source.
}

// errReread means that a data source was read again or deleted during a search.
var errReread = errors.New("datasource: read again meanwhile")

// Retrieve returns the k best passages of data sources for a query, best first. The search is exact over all passages.
// It compares words, and also vectors if they improve the results (see embedder). Retrieve ignores data sources that
// the person may not open, that were not read, or that no longer exist.
func (s *Service) Retrieve(
	ctx context.Context, owner identity.Owner, sourceIDs []uuid.UUID, query string, k int,
) ([]RetrievedPassage, error) {
	if len(sourceIDs) > MaxSearchSources {
		return nil, fault.Errorf(fault.Invalid, "ファイルは%d件まで指定できます。", MaxSearchSources)
	}
	meaning := s.embedder.ask(ctx, query)
	defer meaning.end()
	return s.retrieve(ctx, owner, sourceIDs, query, k, meaning)
}

// Search is Retrieve for all data sources of a person. If they are more than MaxSearchSources, it compares words only,
// because reading the vectors of all passages would take too long.
func (s *Service) Search(ctx context.Context, owner identity.Owner, query string, k int) ([]RetrievedPassage, error) {
	sources, err := s.store.ListSources(ctx, owner, 0, MaxSources)
	if err != nil {
		return nil, err
	}
	ids := make([]uuid.UUID, len(sources))
	for i, source := range sources {
		ids[i] = source.ID
	}
	if len(ids) <= MaxSearchSources {
		return s.Retrieve(ctx, owner, ids, query, k)
	}
	return s.retrieve(ctx, owner, ids, query, k, questionVector{})
}

// retrieve is Retrieve for any number of data sources.
func (s *Service) retrieve(ctx context.Context, owner identity.Owner, sourceIDs []uuid.UUID, query string, k int,
	meaning questionVector,
) ([]RetrievedPassage, error) {
	q := index.NewQuery(query)
	opened, err := s.openIndexes(ctx, owner, sourceIDs, q)
	if err != nil {
		return nil, err
	}
	scores, err := opened.collection().Scores(q)
	if err != nil {
		return nil, err
	}
	meaning.fuse(scores, func(ctx context.Context, modelID int) ([]index.Vectors, bool, error) {
		return s.openVectors(ctx, owner, opened.of, modelID)
	})
	ids := make([]uuid.UUID, len(opened.of))
	for i, o := range opened.of {
		ids[i] = o.ID
	}
	return describe(ids, index.Best(scores, k), func(ids []uuid.UUID, ordinals [][]int) ([]Passage, error) {
		return s.store.FindPassages(ctx, owner, ids, ordinals)
	})
}

// describe returns the passages of hits and their neighbours. ids are those of the data sources. find returns passages
// by their ordinals.
func describe(ids []uuid.UUID, hits []index.Hit, find func(ids []uuid.UUID, ordinals [][]int) ([]Passage, error)) (
	[]RetrievedPassage, error,
) {
	if len(hits) == 0 {
		return nil, nil
	}
	ordinals := make([][]int, len(ids))
	for _, h := range hits {
		ordinals[h.Document] = append(ordinals[h.Document], h.Passage-neighbour, h.Passage, h.Passage+neighbour)
	}
	passages, err := find(ids, ordinals)
	if err != nil {
		return nil, err
	}
	type place struct {
		source  uuid.UUID
		ordinal int
	}
	at := make(map[place]*Passage, len(passages))
	for i, p := range passages {
		at[place{p.SourceID, p.Ordinal}] = &passages[i]
	}
	found := make([]RetrievedPassage, 0, len(hits))
	for _, h := range hits {
		id := ids[h.Document]
		if p := at[place{id, h.Passage}]; p != nil { // Otherwise it was deleted meanwhile.
			found = append(found, RetrievedPassage{
				Passage: *p, Score: h.Score, Before: at[place{id, h.Passage - neighbour}],
				After: at[place{id, h.Passage + neighbour}],
			})
		}
	}
	return found, nil
}

// indexKey identifies a part of an index, or its decoded head, in the cache.
type indexKey struct {
	source  uuid.UUID
	reading int64
	part    int // headPart for the head.
}

const headPart = -1

// openedIndexes contains the parts of indexes that a query needs.
type openedIndexes struct {
	of        []IndexedSource
	documents []*index.Document
	parts     []map[int][]byte
}

func (o openedIndexes) collection() index.Collection {
	return index.Collection{Documents: o.documents, Part: func(document,
		part int,
	) []byte {
		return o.parts[document][part]
	}}
}

// openIndexes returns the index parts for a query and caches them in memory. It checks at each call that the data
// sources exist and that the person may open them.
func (s *Service) openIndexes(
	ctx context.Context, owner identity.Owner, ids []uuid.UUID, query index.Query,
) (openedIndexes, error) {
	const attempts = 3
	for attempt := 1; ; attempt++ {
		opened, err := s.tryOpen(ctx, owner, ids, query)
		if !errors.Is(err, errReread) {
			return opened, err
		}
		if attempt == attempts {
			return opened, fault.Wrap(err, fault.Unavailable, "ファイルを読み取り直しています。少し時間をおいて、もう一度お試しください。")
		}
	}
}

func (s *Service) tryOpen(
	ctx context.Context, owner identity.Owner, ids []uuid.UUID, query index.Query,
) (openedIndexes, error) {
	of, err := s.store.FindIndexes(ctx, owner, ids)
	if err != nil {
		return openedIndexes{}, err
	}
	o := openedIndexes{of: of, documents: make([]*index.Document, len(of)), parts: make([]map[int][]byte, len(of))}
	if err := s.openHeads(ctx, owner, &o); err != nil {
		return openedIndexes{}, err
	}
	return o, s.openParts(ctx, owner, &o, query)
}

// openHeads opens the heads of indexes. It rebuilds an index of another version.
func (s *Service) openHeads(ctx context.Context, owner identity.Owner, o *openedIndexes) error {
	var missing []IndexedSource
	for i, of := range o.of {
		if of.Version != index.Version {
			if err := s.rebuild(ctx, owner, o, i); err != nil {
				return err
			}
		} else if kept, found := s.indexes.Get(indexKey{of.ID, of.Reading, headPart}); found {
			o.documents[i] = kept.(*index.Document)
		} else {
			missing = append(missing, of)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	heads, err := s.store.IndexHeads(ctx, owner, missing)
	if err != nil {
		return err
	}
	for i, of := range o.of {
		if o.documents[i] != nil {
			continue
		}
		head, found := heads[of.ID]
		if !found {
			return errReread
		}
		if o.documents[i], err = index.Open(head); err != nil {
			return fmt.Errorf("the index of data source %s: %w", of.ID, err)
		}
		s.indexes.Put(indexKey{of.ID, of.Reading, headPart}, o.documents[i], o.documents[i].Bytes())
	}
	return nil
}

// openParts reads the index parts that a query needs.
func (s *Service) openParts(ctx context.Context, owner identity.Owner, o *openedIndexes, query index.Query) error {
	missing, any := make([][]int, len(o.of)), false
	for i, of := range o.of {
		if o.parts[i] != nil {
			continue
		}
		o.parts[i] = make(map[int][]byte)
		for _, number := range o.documents[i].Parts(query) {
			if kept, found := s.indexes.Get(indexKey{of.ID, of.Reading, number}); found {
				o.parts[i][number] = kept.([]byte)
			} else {
				missing[i], any = append(missing[i], number), true
			}
		}
	}
	if !any {
		return nil
	}
	read, err := s.store.IndexParts(ctx, owner, o.of, missing)
	if err != nil {
		return err
	}
	for i, of := range o.of {
		for _, number := range missing[i] {
			part, found := read[i][number]
			if !found {
				return errReread
			}
			o.parts[i][number] = part
			s.indexes.Put(indexKey{of.ID, of.Reading, number}, part, len(part))
		}
	}
	return nil
}

// rebuild builds the index of a data source from its passages if it has none of this version. It replaces an older
// index in the store, but not a newer one, which other servers use.
func (s *Service) rebuild(ctx context.Context, owner identity.Owner, o *openedIndexes, i int) error {
	of := o.of[i]
	chunks, err := s.store.ListChunks(ctx, owner, of)
	if err != nil {
		return err
	}
	if len(chunks) == 0 {
		return errReread
	}
	packed := buildIndex(of.Filename, chunks)
	if o.documents[i], err = index.Open(packed.Head); err != nil {
		return err
	}
	o.parts[i] = make(map[int][]byte, len(packed.Parts))
	for number, part := range packed.Parts {
		o.parts[i][number] = part
	}
	if of.Version > index.Version {
		return nil
	}
	if err := s.store.ReplaceIndex(ctx, owner, of, packed); err != nil && fault.CodeOf(err) != fault.NotFound {
		s.log.WarnContext(ctx, "datasource: storing a rebuilt index failed", "data_source_id", of.ID, "err", err)
	}
	return nil
}

// FirstPassages returns up to each first passages of data sources, in order. It may omit data sources that were deleted
// or read again meanwhile.
func (s *Service) FirstPassages(ctx context.Context, owner identity.Owner, of []Source, each int) ([]Passage, error) {
	ids, ordinals := make([]uuid.UUID, len(of)), make([][]int, len(of))
	for i, source := range of {
		ids[i] = source.ID
		for ordinal := range min(each, source.ChunkCount) {
			ordinals[i] = append(ordinals[i], ordinal)
		}
	}
	return s.store.FindPassages(ctx, owner, ids, ordinals)
}

// FindPassage returns a passage by its id.
func (s *Service) FindPassage(ctx context.Context, owner identity.Owner, id uuid.UUID) (EmbeddedPassage, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout.Store)
	defer cancel()
	return s.store.FindPassage(ctx, owner, id)
}
