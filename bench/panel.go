package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
)

// measurePanel opens the extension's panel in Chromium next to a page and requests a summary of it.
func measurePanel(ctx context.Context, b *bench) error {
	const row = "ms until the first characters are drawn"
	times := 15
	if b.quick {
		times = 2
	}
	p, err := startProduct(ctx, b)
	if err != nil {
		return err
	}
	defer p.stop()
	b.say("The extension's panel is opened")
	//nolint:gosec // Our own script.
	cmd := exec.CommandContext(ctx, "node", filepath.Join(b.scripts, "../../extension/bench/open.mjs"), p.url, demoUser,
		demoPassword, fmt.Sprint(times))
	cmd.Stderr = b.progress
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("open.mjs: %w", err)
	}
	var r struct {
		Shown []float64 `json:"shown_ms"`
	}
	if err := json.Unmarshal(out, &r); err != nil {
		return err
	}
	t := newTable("The extension's panel, from opening it to the first characters of a summary",
		"Chromium with the extension that the server hands out, signed in, beside a page of 2,000 characters, from "+
			"localhost, with a model that answers at once: reading the page, storing the question and drawing are in "+
			"it. Median of some.", "", ours)
	b.report.Sections = append(b.report.Sections, t)
	for _, ms := range r.Shown {
		t.add(row, ours, 0, ms)
	}
	b.report.atMostMedian("panel open to the first token", t, row, ours, 300, 0, " ms")
	return nil
}
