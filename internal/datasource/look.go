package datasource

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/datasource/extract"
	"github.com/tsumugi-ai/tsumugi/internal/fault"
)

// Bounds of looking at pages while people wait.
const (
	lookers      = 2               // At once on this server.
	lookPatience = 5 * time.Second // For one of them.
)

var errNoPage = fault.Errorf(fault.NotFound, "ページが見つかりません。")

// RenderPage returns a person's data source and a page of it, from 1, as a PNG that is width pixels wide.
// fault.NotFound says that there is none, or that its format has no pages to look at; fault.Unavailable that too many
// people look at pages now.
func (s *Service) RenderPage(ctx context.Context, owner Owner, id uuid.UUID, page, width int) (picture []byte,
	err error,
) {
	err = s.look(ctx, owner, id, func(ctx context.Context, source Source, file io.Reader) error {
		picture, err = s.extractor.RenderPage(ctx, source.Filename, file, page, width)
		return err
	})
	return picture, err
}

// Locate returns where the text of a page, from 1, stands from one byte to another. The errors are those of RenderPage.
func (s *Service) Locate(ctx context.Context, owner Owner, id uuid.UUID, page, from, to int) (rects []extract.Rect,
	err error,
) {
	err = s.look(ctx, owner, id, func(ctx context.Context, source Source, file io.Reader) error {
		rects, err = s.extractor.Locate(ctx, source.Filename, file, page, from, to)
		return err
	})
	return rects, err
}

// look opens the file of a data source once there is a place.
func (s *Service) look(ctx context.Context, owner Owner, id uuid.UUID,
	use func(context.Context, Source, io.Reader) error,
) error {
	source, file, err := s.Open(ctx, owner, id)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	if format, ok := extract.FormatOf(source.Filename); !ok || !format.HasPictures() {
		return errNoPage
	}
	patience := time.NewTimer(lookPatience)
	defer patience.Stop()
	select {
	case s.lookers <- struct{}{}:
		defer func() { <-s.lookers }()
	case <-patience.C:
		return fault.Errorf(fault.Unavailable, "ページの表示が混み合っています。しばらくしてから、もう一度お試しください。")
	case <-ctx.Done():
		return ctx.Err()
	}
	err = use(ctx, source, file)
	if errors.Is(err, extract.ErrNoPage) {
		return errNoPage
	}
	if wrong, ok := errors.AsType[*extract.Unreadable](err); ok {
		return fault.Wrap(err, fault.Conflict, "%s", wrong.Reason)
	}
	return err
}
