package main

import (
	"cmp"
	"context"
	"log/slog"
	"path/filepath"

	extracting "github.com/tsumugi-ai/tsumugi/internal/datasource/extract/child"
	"github.com/tsumugi-ai/tsumugi/internal/datasource/extract/pdf"
)

// extractCommand is the child process that extracts an uploaded file. Only the server starts it.
type extractCommand struct {
	Job string `arg:"" help:"Job description, written by the server."`
}

func (c extractCommand) Run(ctx context.Context, in *input, out *output) error {
	return extracting.Main(ctx, c.Job, in, out)
}

// extractor returns the Extractor that runs child processes of this program.
func (c *config) extractor(log *slog.Logger) *extracting.Extractor {
	log = log.With("part", "extract")
	font := c.Font
	if font == "" {
		font = pdf.FindFont()
	}
	if font == "" {
		log.Warn(
			"no Japanese font was found: PDF files without embedded fonts are refused; see --font (TSUMUGI_FONT)",
		)
	}
	cache := cmp.Or(c.Cache, filepath.Join(c.Data, "cache", "pdfium"))
	return extracting.New(extracting.Config{Font: font, Cache: cache, Log: log})
}
