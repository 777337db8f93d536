package datasource

import (
	"context"
	"errors"
	"io"
	"time"
	"unicode"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/datasource/extract"
	"github.com/tsumugi-ai/tsumugi/internal/fault"
)

// Bounds of looking at pages and documents while people wait.
const (
	lookers     = 2               // At once on this server.
	lookTimeout = 5 * time.Second // For one of them.
	placeBytes  = 4 << 20         // Of the places of passages that are cached.
	rectBytes   = 40
	pageBytes   = 32 << 20 // Of the pictures of pages that are cached.
)

// pageKey identifies a picture of a page. The file of a data source never changes.
type pageKey struct {
	source      uuid.UUID
	page, width int
}

var errNoPage = fault.Errorf(fault.NotFound, "ページが見つかりません。")

// RenderPage returns a page of a person's data source, from 1, as a PNG that is width pixels wide. fault.NotFound says
// that there is none, or that its format has no pages to look at; fault.Unavailable that too many people look at pages
// now.
func (s *Service) RenderPage(ctx context.Context, owner Owner, id uuid.UUID, page, width int) (picture []byte,
	err error,
) {
	source, err := s.findPaged(ctx, owner, id) // It may have been deleted since the picture was cached.
	if err != nil {
		return nil, err
	}
	key := pageKey{id, page, width}
	if picture, found := s.pages.Get(key); found {
		return picture, nil
	}
	err = s.open(ctx, id, func(file io.Reader) error {
		picture, err = s.extractor.RenderPage(ctx, source.Filename, file, page, width)
		return err
	})
	if err == nil {
		s.pages.Put(key, picture, len(picture))
	}
	return picture, err
}

// Locate returns where a passage stands on its page: nothing if its format has no pages to look at, or less than half
// of it is found there. fault.Unavailable says that too many people look at pages now. The caller has just found the
// passage, and may see it.
func (s *Service) Locate(ctx context.Context, owner Owner, passage Passage) ([]extract.Rect, error) {
	if rects, found := s.places.Get(passage.ID); found {
		return rects, nil
	}
	rects, err := s.findPlace(ctx, owner, passage)
	switch {
	case err == nil:
		s.places.Put(passage.ID, rects, rectBytes*len(rects))
	case errors.Is(err, errNoPage), fault.CodeOf(err) == fault.Conflict: // Or too slow to look at just now.
		return nil, nil
	}
	return rects, err
}

// findPlace asks where a passage stands. Its offsets are right if the page still reads as it did, which a newer program
// need not promise; else the passage is searched for.
func (s *Service) findPlace(ctx context.Context, owner Owner, passage Passage) ([]extract.Rect, error) {
	place, err := s.locate(ctx, owner, passage, passage.Start, passage.End)
	if err != nil {
		return nil, err
	}
	if passage.End > len(place.Text) || place.Text[passage.Start:passage.End] != passage.Text {
		from, to := longestCommon(place.Text, passage.Text)
		if characters(place.Text[from:to])*2 < characters(passage.Text) {
			return nil, nil
		}
		if place, err = s.locate(ctx, owner, passage, from, to); err != nil {
			return nil, err
		}
	}
	if place.Characters*2 < characters(passage.Text) {
		return nil, nil
	}
	return place.Rects, nil
}

func (s *Service) locate(ctx context.Context, owner Owner, passage Passage, from, to int) (place extract.Place,
	err error,
) {
	source, err := s.findPaged(ctx, owner, passage.SourceID)
	if err != nil {
		return place, err
	}
	err = s.open(ctx, source.ID, func(file io.Reader) error {
		place, err = s.extractor.Locate(ctx, source.Filename, file, passage.Page, from, to)
		return err
	})
	return place, err
}

// characters counts those of a text that are no white space.
func characters(text string) (n int) {
	for _, r := range text {
		if !unicode.IsSpace(r) {
			n++
		}
	}
	return n
}

// longestCommon returns where, in bytes, the longest part of a text stands that a passage has too, white space aside.
func longestCommon(text, passage string) (from, to int) {
	var want []rune
	for _, r := range passage {
		if !unicode.IsSpace(r) {
			want = append(want, r)
		}
	}
	type place struct{ from, length int } // In bytes, and in characters.
	last, next := make([]place, len(want)+1), make([]place, len(want)+1)
	longest := 0
	for i, r := range text {
		if unicode.IsSpace(r) {
			continue
		}
		for k, w := range want {
			next[k+1] = place{}
			if r != w {
				continue
			}
			next[k+1] = place{i, 1}
			if before := last[k]; before.length > 0 {
				next[k+1] = place{before.from, before.length + 1}
			}
			if next[k+1].length > longest {
				longest, from, to = next[k+1].length, next[k+1].from, i+len(string(r))
			}
		}
		last, next = next, last
	}
	return from, to
}

// findPaged returns a data source that has pages to look at, when they can be read.
func (s *Service) findPaged(ctx context.Context, owner Owner, id uuid.UUID) (Source, error) {
	source, err := s.Find(ctx, owner, id)
	if err != nil {
		return Source{}, err
	}
	if format, ok := extract.FormatOf(source.Filename); !ok || !format.HasPictures() {
		return Source{}, errNoPage
	}
	return source, s.extractor.Prepare(ctx, source.Filename)
}

// open opens the file of a data source once there is room to read it while a person waits.
func (s *Service) open(ctx context.Context, id uuid.UUID, use func(io.Reader) error) error {
	patience := time.NewTimer(lookTimeout)
	defer patience.Stop()
	select {
	case s.lookers <- struct{}{}:
		defer func() { <-s.lookers }()
	case <-patience.C:
		return fault.Errorf(fault.Unavailable, "ただいま混み合っています。少し時間をおいて、もう一度お試しください。")
	case <-ctx.Done():
		return ctx.Err()
	}
	file, err := s.files.Open(ctx, id)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	err = use(file)
	if errors.Is(err, extract.ErrNoPage) {
		return errNoPage
	}
	if wrong, ok := errors.AsType[*extract.Unreadable](err); ok {
		return fault.Wrap(err, fault.Conflict, "%s", wrong.Reason)
	}
	return err
}
