package datasource

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/datasource/extract"
	"github.com/tsumugi-ai/tsumugi/internal/fault"
)

// maxAttempts bounds how often reading a file is begun: one that brings the server down must not do so for ever.
const maxAttempts = 5

const unreadable = "読み取り中に問題が発生しました。もう一度アップロードしても読み取れない場合は、管理者にお知らせください。"

// ReadSource implements Worker. An error says that it is worth trying again; what a person can do something about is none.
func (s *Service) ReadSource(ctx context.Context, id uuid.UUID) error {
	reading, err := s.store.BeginReading(ctx, id)
	if err != nil {
		return unlessGone(err)
	}
	s.events.SourceChanged(reading.Owner, reading.Source)
	found, err := s.find(ctx, reading)
	if err != nil {
		return err
	}
	ended, err := s.store.EndReading(ctx, reading, found)
	if err != nil {
		return unlessGone(err)
	}
	s.events.SourceChanged(reading.Owner, ended)
	return nil
}

// unlessGone passes on an error but that of a data source that was deleted, or is read anew.
func unlessGone(err error) error {
	if fault.CodeOf(err) == fault.NotFound {
		return nil
	}
	return err
}

// find reads a file, or says what is wrong with it.
func (s *Service) find(ctx context.Context, reading Reading) (Found, error) {
	if reading.Attempt > maxAttempts {
		return Found{Failure: unreadable}, nil
	}
	found, err := s.extract(ctx, reading.Source)
	if wrong, ok := errors.AsType[*extract.Unreadable](err); ok {
		return Found{Failure: wrong.Reason}, nil
	}
	if err == nil {
		return found, nil
	}
	s.log.WarnContext(ctx, "a data source could not be read", "data_source_id", reading.ID, "attempt", reading.Attempt, "err", err)
	if reading.Attempt == maxAttempts && ctx.Err() == nil {
		return Found{Failure: unreadable}, nil
	}
	return Found{}, err
}

// extract returns what a file says. What a reader did not expect is an error, not the end of the server.
func (s *Service) extract(ctx context.Context, source Source) (_ Found, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("panic: %v\n%s", v, debug.Stack())
		}
	}()
	format, ok := extract.FormatOf(source.Filename)
	if !ok {
		return Found{}, fmt.Errorf("no format for %s", source.MediaType)
	}
	file, err := s.files.NewReader(ctx, fileKey(source.ID), nil)
	if err != nil {
		return Found{}, err
	}
	defer func() { _ = file.Close() }()
	content, err := io.ReadAll(io.LimitReader(file, MaxSize))
	if err != nil {
		return Found{}, err
	}
	pages, err := format.Pages(ctx, content)
	if err != nil {
		return Found{}, err
	}
	found := Found{PageCount: len(pages)}
	for _, c := range extract.Split(pages) {
		found.Chunks = append(found.Chunks, Chunk(c))
	}
	return found, nil
}
