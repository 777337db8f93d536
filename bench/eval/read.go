package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"github.com/tsumugi-ai/tsumugi/internal/datasource/extract"
	"github.com/tsumugi-ai/tsumugi/internal/datasource/extractor"
	"github.com/tsumugi-ai/tsumugi/internal/fault"
)

// sample is a file and its expected text.
type sample struct {
	File     string
	Expected struct {
		Status string
		Reason string
		Pages  int
		Must   []struct {
			Text  string
			Pages []int
		}
		Order   []json.RawMessage
		MustNot []string `json:"must_not"`
	}
}

// measureReading extracts every file and prints the differences from the expected text.
func measureReading(ctx context.Context, w io.Writer, reader *extractor.Extractor, dir string) (met bool, _ error) {
	content, err := os.ReadFile(filepath.Join(dir, "manifest.json")) //nolint:gosec // The user chooses the folder.
	if err != nil {
		return false, err
	}
	var manifest struct{ Files []sample }
	if err := json.Unmarshal(content, &manifest); err != nil {
		return false, err
	}
	right := 0
	_, _ = fmt.Fprintf(w, "\n%-32s %-18s %s\n", "file", "expected", "is")
	for _, s := range manifest.Files {
		wrong := s.faults(ctx, reader, dir)
		verdict := "right"
		if len(wrong) > 0 {
			verdict = "WRONG: " + strings.Join(wrong, "; ")
		} else {
			right++
		}
		_, _ = fmt.Fprintf(w, "%-32s %-18s %s\n", s.File, strings.TrimSpace(s.Expected.Status+" "+s.Expected.Reason),
			verdict)
	}
	_, _ = fmt.Fprintf(w, "%d of %d files are right\n", right, len(manifest.Files))
	return right == len(manifest.Files), nil
}

// faults extracts a file and returns its differences from the expected text.
func (s sample) faults(ctx context.Context, reader *extractor.Extractor, dir string) (wrong []string) {
	pages, err := s.read(ctx, reader, dir)
	if refused, ok := errors.AsType[*fault.UnreadableError](err); ok {
		if s.Expected.Status != "failed" || s.Expected.Reason != string(refused.Code) {
			wrong = append(wrong, fmt.Sprintf("refused as %s", refused.Code))
		}
		return wrong
	}
	if err != nil {
		return []string{err.Error()}
	}
	if s.Expected.Status == "failed" {
		return []string{"read"}
	}
	texts, whole := make([]string, len(pages)), ""
	for i, p := range pages {
		texts[i] = squeezed(p.Text)
		whole += texts[i]
	}
	if s.Expected.Pages > 0 && len(pages) != s.Expected.Pages {
		wrong = append(wrong, fmt.Sprintf("%d pages, not %d", len(pages), s.Expected.Pages))
	}
	for _, m := range s.Expected.Must {
		text := squeezed(m.Text)
		there := strings.Contains(whole, text)
		for _, page := range m.Pages {
			there = there && page <= len(texts) && strings.Contains(texts[page-1], text)
		}
		if !there {
			wrong = append(wrong, fmt.Sprintf("lacks %.30q", m.Text))
		}
	}
	for _, o := range s.Expected.Order {
		if text := textOf(o); !strings.Contains(whole, squeezed(text)) {
			wrong = append(wrong, fmt.Sprintf("order: lacks %.30q", text))
		}
	}
	for _, text := range s.Expected.MustNot {
		if strings.Contains(whole, squeezed(text)) {
			wrong = append(wrong, fmt.Sprintf("has %.30q", text))
		}
	}
	return wrong
}

// read extracts a file. It returns an error for file names that the server does not accept.
func (s sample) read(ctx context.Context, reader *extractor.Extractor, dir string) ([]extract.Page, error) {
	if _, ok := extract.FormatOf(s.File); !ok {
		return nil, &fault.UnreadableError{Code: fault.FileUnsupported, Reason: "-"}
	}
	return pagesOf(ctx, reader, filepath.Join(dir, s.File))
}

// textOf returns the text in raw, which is a string or an object with the text.
func textOf(raw json.RawMessage) (text string) {
	var object struct{ Text string }
	if json.Unmarshal(raw, &text) != nil && json.Unmarshal(raw, &object) == nil {
		return object.Text
	}
	return text
}

// squeezed normalizes a text for comparison: NFKC, lower case, without white space.
func squeezed(text string) string {
	runes := []rune(strings.ToLower(norm.NFKC.String(text)))
	return string(slices.DeleteFunc(runes, unicode.IsSpace))
}
