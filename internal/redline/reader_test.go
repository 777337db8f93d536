package redline_test

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tsumugi-ai/tsumugi/internal/redline"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// independentReader is a script that uses docxodus from npm, which is based on Microsoft's Open XML SDK. It accepts and
// rejects the tracked changes of each file, writes both results next to the file, and prints the revisions.
const independentReader = `
const fs = require('fs')
import('docxodus/core').then(async (docx) => {
  await docx.initialize()
  const found = []
  for (const path of process.argv.slice(1)) {
    const file = new Uint8Array(fs.readFileSync(path))
    fs.writeFileSync(path + '.accepted', await docx.docxDiffAcceptRevisions(file))
    fs.writeFileSync(path + '.rejected', await docx.docxDiffRejectRevisions(file))
    found.push({ revisions: await docx.getRevisions(file), comments: await docx.getComments(file) })
  }
  console.log('\n' + JSON.stringify(found))
})
`

// found is the output of independentReader for one file.
type found struct {
	Revisions []struct{ Type, Author, Date, Text string }
	Comments  []struct{ Author, Initials, Text string }
}

func independent(t *testing.T, paths []string) (all []found) {
	t.Helper()
	node, err := exec.LookPath("node")
	if _, absent := os.Stat("../../node_modules/docxodus"); err != nil || absent != nil {
		t.Skip("the npm packages are not installed")
	}
	cmd := exec.CommandContext(t.Context(), node, append([]string{"-e", independentReader}, paths...)...)
	cmd.Dir = "../.."
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	must.Succeed(t, json.Unmarshal([]byte(lines[len(lines)-1]), &all))
	return all
}

// TestAnotherLibraryReadsTheChanges verifies that a library without common code reads the changes and comments, and
// produces the expected text when it accepts or rejects all changes.
func TestAnotherLibraryReadsTheChanges(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	var paths, originals, wants []string
	var comments []int
	for name, file := range files(t) {
		original := text(t, file)
		changes := someChanges(rand.New(rand.NewPCG(7, 1)), original, 40)
		marked := must.Get(mark(file, changes...))(t)
		path := filepath.Join(folder, name)
		must.Succeed(t, os.WriteFile(path, marked, 0o600))
		n := 0
		for _, c := range changes {
			if c.Comment != "" {
				n++
			}
		}
		paths, originals = append(paths, path), append(originals, original)
		wants, comments = append(wants, applied(original, changes)), append(comments, n)
	}
	for i, got := range independent(t, paths) {
		original, want := originals[i], wants[i]
		if strings.HasSuffix(paths[i], "libreoffice.docx") { // It also rejects the other author's change.
			original = strings.Replace(original, "本日、", "先日", 1)
		}
		if accepted := readText(t, paths[i]+".accepted"); accepted != want {
			t.Errorf("%s accepted:\n%q, want\n%q", paths[i], accepted, want)
		}
		if rejected := readText(t, paths[i]+".rejected"); rejected != original {
			t.Errorf("%s rejected:\n%q, want\n%q", paths[i], rejected, original)
		}
		ours := 0
		for _, c := range got.Comments {
			if c.Author == author.Name && c.Initials == author.Name && c.Text != "" {
				ours++
			}
		}
		if ours != comments[i] {
			t.Errorf("%s has %d comments, want %d", paths[i], ours, comments[i])
		}
		dated := 0
		for _, r := range got.Revisions {
			if r.Author == author.Name && r.Date == "2026-11-23T18:30:00Z" && r.Text != "" {
				dated++
			}
		}
		if dated == 0 {
			t.Errorf("%s has no changes of %s", paths[i], author.Name)
		}
	}
}

func readText(t *testing.T, path string) string {
	t.Helper()
	file := must.Get(os.ReadFile(path))(t)
	got := must.Get(redline.Text(file))(t)
	return got
}
