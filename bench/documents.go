package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"mime/multipart"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	tsumugi "github.com/tsumugi-ai/tsumugi/clients/go"
	"github.com/tsumugi-ai/tsumugi/internal/datasource/extract/pdf/pdftest"
)

const (
	bookPages  = 1000
	queueFiles = 100 // Files of one person, queued before the file of another.
	queuePages = 20  // Pages of each file.
	lookEvery  = 50 * time.Millisecond
)

// measureDocuments uploads a PDF file with many pages, and then a file that is queued after many files of another
// person.
func measureDocuments(ctx context.Context, b *bench) error {
	pages, files := bookPages, queueFiles
	if b.quick {
		pages, files = pages/10, files/10
	}
	t := newTable("Reading documents",
		fmt.Sprintf("A PDF file of %d pages, 800 characters each, from the end of its upload until it can be "+
			"searched; memory is what is resident, at most. Then a small text file of one person, uploaded behind %d "+
			"PDF files of %d pages of another.",
			pages, files, queuePages), "", ours)
	b.report.Sections = append(b.report.Sections, t)
	p, err := startProduct(ctx, b)
	if err != nil {
		return err
	}
	defer p.stop()
	other := &tsumugi.Client{
		URL: p.url, Token: tsumugi.Password(p.url, "admin@demo.example", demoPassword, p.client.HTTP),
		HTTP: p.client.HTTP,
	}
	random := rand.New(rand.NewPCG(5, 6)) //nolint:gosec // The texts are the same in each run.
	// The first file makes a new server compile PDFium.
	if _, err := read(ctx, p.client, "最初の資料.pdf", book(random, 1)); err != nil {
		return err
	}
	for range b.rounds {
		b.say("Documents: %d pages", pages)
		before, err := p.server.memory()
		if err != nil {
			return err
		}
		peak := p.watchMemory(ctx)
		took, err := read(ctx, p.client, "資料.pdf", book(random, pages))
		server, child := peak()
		if err != nil {
			return err
		}
		t.add("s for all pages", ours, 1, took.Seconds())
		t.add("pages a second", ours, 0, float64(pages)/took.Seconds())
		t.add("MiB that the server grows by", ours, 0, (server-before)/1024)
		t.add("MiB of the child", ours, 0, child/1024)

		b.say("Documents: one file behind %d", files)
		for i := range files {
			if _, err := upload(ctx, p.client, fmt.Sprintf("資料%d.pdf", i), book(random, queuePages)); err != nil {
				return err
			}
		}
		if took, err = read(ctx, other, "メモ.txt", []byte(pageText(random, 800))); err != nil {
			return err
		}
		t.add(fmt.Sprintf("s for a file behind %d of another person", files), ours, 2, took.Seconds())
		if err := allRead(ctx, p.client); err != nil {
			return err
		}
	}
	b.report.atMostMedian(fmt.Sprintf("a PDF file of %d pages", pages), t, "s for all pages", ours, 60, 1, " s")
	b.report.atMostMedian("memory of the server while it is read", t, "MiB that the server grows by", ours,
		64, 0, " MiB")
	b.report.atMostMedian("memory of the child that reads it", t, "MiB of the child", ours, 512, 0, " MiB")
	behind := fmt.Sprintf("s for a file behind %d of another person", files)
	b.report.atMostMedian(fmt.Sprintf("a file behind %d of another person", files), t, behind, ours, 5, 2, " s")
	return nil
}

// book returns a PDF file with full pages.
func book(random *rand.Rand, pages int) []byte {
	drawn := make([]*pdftest.Page, pages)
	for i := range drawn {
		drawn[i] = new(pdftest.Page)
		text := []rune(pageText(random, 800))
		for line := 0; len(text) > 0; line++ {
			n := min(len(text), 40)
			drawn[i].Text(50, 790-19*float64(line), 12, string(text[:n]))
			text = text[n:]
		}
	}
	return pdftest.Draw(drawn)
}

// source is a data source in the API's format.
type source struct {
	ID, Status, Filename, Error string
}

// upload uploads a file.
func upload(ctx context.Context, c *tsumugi.Client, name string, content []byte) (s source, err error) {
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	part, err := form.CreateFormFile("file", name)
	if err != nil {
		return s, err
	}
	if _, err := part.Write(content); err != nil {
		return s, err
	}
	if err := form.Close(); err != nil {
		return s, err
	}
	token, err := c.Token(ctx, false)
	if err != nil {
		return s, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.URL+"/v1/data-source/file", &body)
	if err != nil {
		return s, err
	}
	req.Header.Set("Content-Type", form.FormDataContentType())
	req.Header.Set("Authorization", "Bearer "+token)
	resp, err := c.HTTP.Do(req)
	if err != nil {
		return s, err
	}
	defer func() { _ = resp.Body.Close() }()
	answer, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusCreated {
		err = fmt.Errorf("upload of %s: %d %s", name, resp.StatusCode, answer)
	}
	if err != nil {
		return s, err
	}
	return s, json.Unmarshal(answer, &s)
}

// read uploads a file, waits until the server has extracted it, and returns the time that the extraction took.
func read(ctx context.Context, c *tsumugi.Client, name string, content []byte) (took time.Duration, _ error) {
	s, err := upload(ctx, c, name, content)
	if err != nil {
		return 0, err
	}
	began := time.Now()
	err = await(ctx, c, func(list []source) bool {
		for _, other := range list {
			if other.ID == s.ID && other.Status == "success" {
				return true
			}
		}
		return false
	})
	return time.Since(began), err
}

// allRead waits until all files of a person are extracted.
func allRead(ctx context.Context, c *tsumugi.Client) error {
	return await(ctx, c, func(list []source) bool {
		for _, s := range list {
			if s.Status != "success" {
				return false
			}
		}
		return true
	})
}

// await polls a person's newest files until enough returns true. It returns an error if the server cannot extract a
// file.
func await(ctx context.Context, c *tsumugi.Client, enough func([]source) bool) error {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		var list struct{ Items []source }
		if err := c.Call(ctx, http.MethodGet, "/v1/data-source?limit=100", nil, &list); err != nil {
			return err
		}
		for _, s := range list.Items {
			if s.Status == "failed" {
				return fmt.Errorf("%s: %s", s.Filename, s.Error)
			}
		}
		if enough(list.Items) {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// watchMemory samples the memory of the server and of its child processes that extract files, until stop is called.
// stop returns the maximum of each, in KiB.
func (p *product) watchMemory(ctx context.Context) (stop func() (server, child float64)) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	var server, child float64
	go func() {
		defer close(done)
		tick := time.NewTicker(lookEvery)
		defer tick.Stop()
		for {
			own, _ := p.server.memory()
			server, child = max(server, own), max(child, childMemory(p.server.cmd.Process.Pid))
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
		}
	}()
	return func() (float64, float64) {
		cancel()
		<-done
		return server, child
	}
}

// childMemory returns the memory of a server's largest child process, in KiB.
func childMemory(server int) (most float64) {
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", server))
	for _, task := range tasks {
		children, _ := os.ReadFile(task) //nolint:gosec // The process is a child of this one.
		for _, child := range strings.Fields(string(children)) {
			pid, err := strconv.Atoi(child)
			line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
			if err == nil && bytes.HasPrefix(line, []byte("tsumugi\x00extract\x00")) {
				own, _ := memoryOf(pid)
				most = max(most, own)
			}
		}
	}
	return most
}
