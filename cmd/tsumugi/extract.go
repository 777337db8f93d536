package main

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"path/filepath"

	"github.com/tsumugi-ai/tsumugi/internal/datasource/extract/pdf"
	"github.com/tsumugi-ai/tsumugi/internal/datasource/extractor"
	"github.com/tsumugi-ai/tsumugi/internal/picture"
	"github.com/tsumugi-ai/tsumugi/internal/sandbox"
)

// extractCommand is the child process that reads an untrusted file. Only the server starts it.
type extractCommand struct {
	Job string `arg:"" help:"Job description, written by the server."`
}

func (c extractCommand) Run(ctx context.Context, in *input, out *output) error {
	tasks := extractor.Tasks()
	maps.Copy(tasks, picture.Tasks())
	return sandbox.Main(ctx, c.Job, in, out, tasks)
}

// sandboxed returns the readers of files and pictures, which run child processes of this program.
func (c *config) sandboxed(log *slog.Logger) (*extractor.Extractor, *picture.Reader) {
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
	runner := sandbox.New(sandbox.Config{Log: log})
	return extractor.New(runner, extractor.Config{Font: font, Cache: cache}), picture.NewReader(runner)
}
