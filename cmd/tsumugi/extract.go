package main

import (
	"context"

	extracting "github.com/tsumugi-ai/tsumugi/internal/datasource/extract/child"
)

// extractCommand is the child that reads an uploaded file. Only the server starts it.
type extractCommand struct {
	Job string `arg:"" help:"What to do, as the server writes it."`
}

// Run does the job.
func (c extractCommand) Run(ctx context.Context, in *input, out *output) error {
	return extracting.Main(ctx, c.Job, in, out)
}
