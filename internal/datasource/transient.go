package datasource

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"time"

	"github.com/tsumugi-ai/tsumugi/internal/datasource/extract"
	"github.com/tsumugi-ai/tsumugi/internal/fault"
)

// maxTransient is the largest size of a file for ReadTransient, in bytes. The whole file is held in memory.
const maxTransient = 20 << 20

// Limits for reading files that are not stored, while people wait.
const (
	transientSlots   = 4               // Concurrent files on this server, from the first byte to the last page.
	transientWait    = 5 * time.Second // Wait for a free reader.
	transientTimeout = time.Minute     // For the extractor.
)

// transientName is the filename of a file that is not stored.
const transientName = "page.pdf"

// ReadTransient returns the pages of a PDF file that is not stored, such as a file that a person views in the browser.
// The error has the code fault.TooLarge for a file larger than maxTransient, fault.Unavailable if too many files are
// being read, and fault.Invalid with the reason for an unreadable file. Errors of content are returned unchanged.
func (s *Service) ReadTransient(ctx context.Context, content io.Reader) ([]extract.Page, error) {
	patience := time.NewTimer(transientWait)
	defer patience.Stop()
	select {
	case s.transient <- struct{}{}:
		defer func() { <-s.transient }()
	case <-patience.C:
		return nil, fault.Errorf(fault.Unavailable, "PDFの読み取りが混み合っています。少し時間をおいて、もう一度お試しください。")
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	file, err := io.ReadAll(io.LimitReader(content, maxTransient+1))
	switch {
	case err != nil:
		return nil, err
	case len(file) == 0:
		return nil, fault.EmptyFile()
	case len(file) > maxTransient:
		return nil, fault.OversizedFile("PDFが大きすぎます。%d MiB 以内のものを読み取れます。", maxTransient)
	}
	if err := s.extractor.Prepare(ctx, transientName); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, transientTimeout)
	defer cancel()
	var pages []extract.Page
	err = s.extractor.Extract(ctx, transientName, bytes.NewReader(file), func(p extract.Page, _ int) error {
		pages = append(pages, p)
		return nil
	})
	if wrong, ok := errors.AsType[*fault.UnreadableError](err); ok {
		// The reasons mention an upload, which does not apply here.
		return nil, fault.InvalidFile(fault.Invalid, "%s", strings.Replace(wrong.Reason, "アップロードして", "お試し", 1))
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return nil, fault.Errorf(fault.Unavailable, "PDFの読み取りが混み合っています。少し時間をおいて、もう一度お試しください。")
	}
	return pages, err
}
