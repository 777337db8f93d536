package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
)

// browserRun is the output of the browser's part.
type browserRun struct {
	Chromium  string  `json:"chromium"`
	Seconds   float64 `json:"seconds"`
	LongTasks int     `json:"long_tasks"`
	Longest   float64 `json:"longest_ms"`
	Long      []struct {
		At float64 `json:"at_s"` // Seconds since the question.
		MS float64 `json:"ms"`
	} `json:"long"`
	Frames    int     `json:"frames"`
	Frame50   float64 `json:"frame_p50_ms"`
	Frame95   float64 `json:"frame_p95_ms"`
	Dropped   int     `json:"dropped"`
	Busy      float64 `json:"main_thread_share"`
	Script    float64 `json:"script_share"`
	Style     float64 `json:"style_share"`
	Layout    float64 `json:"layout_share"`
	HeapMB    float64 `json:"heap_mb"`
	Same      bool    `json:"text_same"`
	LandingKB float64 `json:"landing_js_kb"`
	ChatKB    float64 `json:"chat_js_kb"`
}

// runScript runs a script of the browser with a number, and decodes its output.
func (b *bench) runScript(ctx context.Context, p *product, name string, n int, into any) error {
	//nolint:gosec // Our own script.
	cmd := exec.CommandContext(ctx, "node", filepath.Join(b.scripts, name), p.url, demoUser, demoPassword, fmt.Sprint(n))
	cmd.Stderr = b.progress
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return json.Unmarshal(out, into)
}

// measureBrowser shows an answer of 100 KB at 200 tokens/s in Chromium.
func measureBrowser(ctx context.Context, b *bench) error {
	p, err := startProduct(ctx, b)
	if err != nil {
		return err
	}
	defer p.stop()
	size := 100 << 10
	if b.quick {
		size = 12 << 10
	}
	b.say("The browser shows an answer of %d KB at 200 tokens/s", size>>10)
	var r browserRun
	if err := b.runScript(ctx, p, "answer.mjs", size, &r); err != nil {
		return err
	}
	if r.Frames == 0 {
		return errors.New("no frame was drawn")
	}
	for _, task := range r.Long {
		b.say("A task of %.0f ms, %.1f s after the question", task.MS, task.At)
	}
	b.report.Machine.Versions["Chromium"] = r.Chromium
	b.browserTable(size, r)
	if err := measureLoad(ctx, b, p); err != nil {
		return err
	}
	return measurePages(ctx, b, p)
}

// measureLoad opens the chat page in Chromium with an empty cache on a throttled CPU.
func measureLoad(ctx context.Context, b *bench, p *product) error {
	const column, rowUsable, rowJS = "tsumugi", "ms until the composer takes what is typed",
		"JavaScript loaded by then, KB gz"
	times := 9
	if b.quick {
		times = 2
	}
	b.say("The browser loads the chat page, slowed down")
	var r struct {
		Usable []float64 `json:"usable_ms"`
		JS     []float64 `json:"js_kb"`
	}
	if err := b.runScript(ctx, p, "load.mjs", times, &r); err != nil {
		return err
	}
	t := newTable("First load of the chat page",
		"Chromium with an empty cache, signed in, the processor slowed down four times, from localhost. Median of "+
			"some loads.", "", column)
	b.report.Sections = append(b.report.Sections, t)
	for _, ms := range r.Usable {
		t.add(rowUsable, column, 0, ms)
	}
	for _, kb := range r.JS {
		t.add(rowJS, column, 1, kb)
	}
	b.report.atMostMedian("first load of the chat page, 4 × slower: usable", t, rowUsable, column, 1500, 0, " ms")
	return nil
}

// measurePages clicks through the pages of the app in Chromium.
func measurePages(ctx context.Context, b *bench, p *product) error {
	const column, row = "tsumugi", "ms from the click to the frame of the next page"
	times := 25
	if b.quick {
		times = 3
	}
	b.say("The browser changes between pages")
	var r struct {
		Frames []float64 `json:"frame_ms"`
	}
	if err := b.runScript(ctx, p, "pages.mjs", times, &r); err != nil {
		return err
	}
	t := newTable("A page change", "Chromium, signed in, from localhost, after the code of the pages was loaded: skills, a "+
		"chat, files. Until the frame that shows the heading of the page. Median of some changes.", "", column)
	b.report.Sections = append(b.report.Sections, t)
	for _, ms := range r.Frames {
		t.add(row, column, 0, ms)
	}
	b.report.atMostMedian("page change: frame of the next page", t, row, column, 100, 0, " ms")
	return nil
}

func (b *bench) browserTable(size int, r browserRun) {
	const column = "tsumugi"
	t := newTable(fmt.Sprintf("An answer of %d KB at 200 tokens/s in Chromium", size>>10),
		"The real app and server; Markdown with headings, lists, tables, code and math, two characters a token. "+
			"Once. A frame is dropped when the next one comes later than one and a half times 16.7 ms, counted by "+
			"how many are missing.",
		"", column)
	b.report.Sections = append(b.report.Sections, t)
	same := 0.0
	if !r.Same {
		same = 1
	}
	for _, v := range []struct {
		name   string
		digits int
		value  float64
	}{
		{"long tasks (> 50 ms)", 0, float64(r.LongTasks)},
		{"longest task, ms (0: none over 50)", 0, r.Longest},
		{"frame, p50 ms", 1, r.Frame50},
		{"frame, p95 ms", 1, r.Frame95},
		{"dropped frames, of 1,000", 1, 1000 * float64(r.Dropped) / float64(r.Frames+r.Dropped)},
		{"main thread busy, %", 0, 100 * r.Busy},
		{"… of which scripts", 1, 100 * r.Script},
		{"… styles", 1, 100 * r.Style},
		{"… layout", 1, 100 * r.Layout},
		{"JS heap at the end, MB", 1, r.HeapMB},
		{"answers whose text differs from the stored one", 0, same},
		{"seconds it took", 1, r.Seconds},
		{"JavaScript of the landing page, KB gz", 1, r.LandingKB},
		{"JavaScript of the chat route, KB gz", 1, r.ChatKB},
	} {
		t.add(v.name, column, v.digits, v.value)
	}
	b.report.atMost("browser: long tasks", float64(r.LongTasks), 0, 0, "")
	b.report.atMost("browser: frame, p95", r.Frame95, 17, 1, " ms")
	b.report.atMost("JavaScript of the chat route, first load", r.ChatKB, 300, 0, " KB gz")
}
