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
	"github.com/tsumugi-ai/tsumugi/internal/identity"
)

// Limits for viewing pages and documents while people wait.
const (
	maxViews    = 2               // Concurrent views on this server.
	viewTimeout = 5 * time.Second // Wait for a free view.
	placeBytes  = 4 << 20         // Size of the cache of passage places.
	rectBytes   = 40
	pageBytes   = 32 << 20 // Size of the cache of page pictures.
)

// pageKey identifies a picture of a page. The file of a data source never changes.
type pageKey struct {
	source      uuid.UUID
	page, width int
}

var errNoPage = fault.Errorf(fault.NotFound, "ページが見つかりません。")

// RenderPage returns a page of a person's data source, from 1, as a PNG with the given width in pixels. The error has
// the code fault.NotFound if the page does not exist or the format has no pages to view, and fault.Unavailable if too
// many people are viewing pages.
func (s *Service) RenderPage(ctx context.Context, owner identity.Owner, id uuid.UUID, page, width int) (picture []byte,
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

// Locate returns the rectangles of a passage on its page. It returns none if the format has no pages to view, or if
// less than half of the passage is found. The error has the code fault.Unavailable if too many people are viewing
// pages. The caller must have checked that the owner may see the passage.
func (s *Service) Locate(ctx context.Context, owner identity.Owner, passage Passage) ([]extract.Rect, error) {
	if rects, found := s.places.Get(passage.ID); found {
		return rects, nil
	}
	rects, err := s.findPlace(ctx, owner, passage)
	switch {
	case err == nil:
		s.places.Put(passage.ID, rects, rectBytes*len(rects))
	case errors.Is(err, errNoPage), fault.CodeOf(err) == fault.Conflict: // Or too slow to read at the moment.
		return nil, nil
	}
	return rects, err
}

// findPlace locates a passage. Its offsets are valid if the page still has the same text, which may change with a newer
// version of the extractor. Otherwise, findPlace searches for the passage.
func (s *Service) findPlace(ctx context.Context, owner identity.Owner, passage Passage) ([]extract.Rect, error) {
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

func (s *Service) locate(ctx context.Context, owner identity.Owner, passage Passage, from, to int) (place extract.Place,
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

// characters returns the number of characters that are not white space.
func characters(text string) (n int) {
	for _, r := range text {
		if !unicode.IsSpace(r) {
			n++
		}
	}
	return n
}

// longestCommon returns the byte range of the longest part of a text that also occurs in passage, ignoring white space.
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

// findPaged returns a data source if its format has pages to view.
func (s *Service) findPaged(ctx context.Context, owner identity.Owner, id uuid.UUID) (Source, error) {
	source, err := s.Find(ctx, owner, id)
	if err != nil {
		return Source{}, err
	}
	if format, ok := extract.FormatOf(source.Filename); !ok || !format.IsPaged() {
		return Source{}, errNoPage
	}
	return source, s.extractor.Prepare(ctx, source.Filename)
}

// open waits for a free view and opens the file of a data source.
func (s *Service) open(ctx context.Context, id uuid.UUID, use func(io.Reader) error) error {
	patience := time.NewTimer(viewTimeout)
	defer patience.Stop()
	select {
	case s.viewSlots <- struct{}{}:
		defer func() { <-s.viewSlots }()
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
	if wrong, ok := errors.AsType[*fault.UnreadableError](err); ok {
		return fault.Wrap(err, fault.Conflict, "%s", wrong.Reason)
	}
	return err
}
