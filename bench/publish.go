package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// The marks before and after a run's results in the page.
const (
	resultsBegin = "<!-- Results: what stands from here on to the next mark is written by `just bench`. -->"
	resultsEnd   = "<!-- End of the results. -->"
)

// publish writes the plots into a folder, and the tables with links to the plots into the page folder + ".md".
func (r *report) publish(folder string) error {
	page := folder + ".md"
	text, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	before, rest, found := strings.Cut(string(text), resultsBegin)
	_, after, ended := strings.Cut(rest, resultsEnd)
	if !found || !ended {
		return errors.New(page + " lacks the marks between which results stand")
	}
	if err := os.MkdirAll(folder, 0o755); err != nil { //nolint:gosec // Documentation is readable by all users.
		return err
	}
	var results bytes.Buffer
	r.writeHead(&results)
	for _, t := range r.Sections {
		t.write(&results)
		for name, of := range plots() {
			if !strings.Contains(t.Title, name) {
				continue
			}
			for _, p := range of {
				picture := p.draw(t)
				if picture == "" {
					continue
				}
				//nolint:gosec // The same.
				if err := os.WriteFile(filepath.Join(folder, p.file+".svg"), []byte(picture), 0o644); err != nil {
					return err
				}
				fmt.Fprintf(&results, "\n![%s](%s/%s.svg)\n", p.title, filepath.Base(folder), p.file)
			}
		}
	}
	r.writeGoals(&results)
	//nolint:gosec // The same.
	return os.WriteFile(page, []byte(before+resultsBegin+"\n\n"+results.String()+"\n"+resultsEnd+after), 0o644)
}
