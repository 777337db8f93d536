package tsumugi_test

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/tsumugi-ai/tsumugi/test/must"
)

// TestReliabilityIsTested compares the rows of docs/reliability.md with the tests that carry their numbers.
func TestReliabilityIsTested(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("docs/reliability.md")
	must.Succeed(t, err)
	tested := map[string]bool{} // By row.
	for _, row := range regexp.MustCompile(`(?m)^\| (R\d\d) \|`).FindAllStringSubmatch(string(page), -1) {
		tested[row[1]] = false
	}
	names := map[string]*regexp.Regexp{
		".go": regexp.MustCompile(`\bfunc (?:Test|Fuzz)(R\d\d)(?:_(R\d\d))?_`),
		".ts": regexp.MustCompile(`(?:test|describe|it)\(\s*['"` + "`" + `](R\d\d)(?:, (R\d\d))?:? `),
	}
	err = filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			if entry != nil && (entry.Name() == "node_modules" || entry.Name() == "dist") {
				return filepath.SkipDir
			}
			return err
		}
		name := names[filepath.Ext(path)]
		if name == nil {
			return nil
		}
		source, err := os.ReadFile(path) //nolint:gosec // A file of this repository.
		if err != nil {
			return err
		}
		for _, found := range name.FindAllStringSubmatch(string(source), -1) {
			for _, row := range found[1:] {
				if row == "" {
					continue
				}
				if _, ok := tested[row]; !ok {
					t.Errorf("%s cites %s, which docs/reliability.md does not have", path, row)
				}
				tested[row] = true
			}
		}
		return nil
	})
	must.Succeed(t, err)
	for row, ok := range tested {
		if !ok {
			t.Errorf("no test carries %s in its name", row)
		}
	}
	if len(tested) < 50 {
		t.Errorf("%d rows", len(tested))
	}
}

// TestDecisionsHaveTheirForm: each page under docs/adr has a date, a status and alternatives, and the index names it
// once.
func TestDecisionsHaveTheirForm(t *testing.T) {
	t.Parallel()
	index, err := os.ReadFile("docs/adr/README.md")
	must.Succeed(t, err)
	pages, err := filepath.Glob("docs/adr/[0-9]*.md")
	if err != nil || len(pages) < 30 {
		t.Fatalf("%d pages, %v", len(pages), err)
	}
	form := regexp.MustCompile(
		`(?s)^# \d+\. .+\nDate: \d{4}-\d\d-\d\d.*\. Status: .+` +
			`## Context\n.+## Decision\n.+## Alternatives\n.+## Consequences\n`,
	)
	for _, name := range pages {
		page, err := os.ReadFile(name) //nolint:gosec // A page of this repository.
		must.Succeed(t, err)
		if !form.Match(page) {
			t.Errorf("%s lacks its date, status, context, decision, alternatives or consequences", name)
		}
		if n := strings.Count(string(index), "("+filepath.Base(name)+")"); n != 1 {
			t.Errorf("the index names %s %d times", name, n)
		}
	}
}

// TestDocumentsLinkToFiles: the files and folders that documents link to exist.
func TestDocumentsLinkToFiles(t *testing.T) {
	t.Parallel()
	link := regexp.MustCompile(`\]\(([^)#:\s]+)(?:#[^)\s]*)?\)`)
	links := 0
	for path, text := range textFiles(t, ".md") {
		for _, found := range link.FindAllStringSubmatch(text, -1) {
			links++
			if _, err := os.Stat(filepath.Join(filepath.Dir(path), found[1])); err != nil {
				t.Errorf("%s links to %s: %v", path, found[1], err)
			}
		}
	}
	if links < 100 {
		t.Errorf("%d links", links)
	}
}

// TestNamedDecisionsExist: each decision that a document or a comment names by its number has a page.
func TestNamedDecisionsExist(t *testing.T) {
	t.Parallel()
	name := regexp.MustCompile(`\bADR\s+(\d+)|docs/adr/(\d{4})`)
	named := 0
	for path, text := range textFiles(t, ".md", ".go", ".ts", ".tsx", ".sql") {
		for _, found := range name.FindAllStringSubmatch(text, -1) {
			named++
			number := "000" + found[1] + found[2]
			number = number[len(number)-4:]
			if pages, err := filepath.Glob("docs/adr/" + number + "-*.md"); err != nil || len(pages) != 1 {
				t.Errorf("%s names decision %s, which has %d pages", path, number, len(pages))
			}
		}
	}
	if named < 30 {
		t.Errorf("%d decisions are named", named)
	}
}

// textFiles returns the content of the repository's files with one of the extensions, without test data.
func textFiles(t *testing.T, extensions ...string) map[string]string {
	t.Helper()
	skipped := []string{"node_modules", "dist", "bin", "testdata", ".git", ".cache"}
	texts := make(map[string]string)
	err := filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && slices.Contains(skipped, entry.Name()):
			return filepath.SkipDir
		case entry.IsDir() || !slices.Contains(extensions, filepath.Ext(path)):
			return nil
		}
		text, err := os.ReadFile(path) //nolint:gosec // A file of this repository.
		texts[path] = string(text)
		return err
	})
	must.Succeed(t, err)
	return texts
}

// TestArchitectureLeadsSomewhere: the files that ARCHITECTURE.md sends a reader to are there.
func TestArchitectureLeadsSomewhere(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("ARCHITECTURE.md")
	must.Succeed(t, err)
	files := regexp.MustCompile(
		"[`(]([a-z][a-zA-Z0-9_./-]*\\.(?:go|md|ts|yaml))[`)]",
	).FindAllStringSubmatch(string(page), -1)
	for _, file := range files {
		if !strings.Contains(file[1], "/") {
			continue
		}
		if _, err := os.Stat(file[1]); err != nil {
			t.Errorf("ARCHITECTURE.md names %s: %v", file[1], err)
		}
	}
	if len(files) < 20 {
		t.Errorf("%d files", len(files))
	}
}

// TestDocumentsShowTheScreenshots: every screenshot in docs/screens is shown by a document, and every one shown exists.
func TestDocumentsShowTheScreenshots(t *testing.T) {
	t.Parallel()
	shown := make(map[string]bool)
	documents, err := filepath.Glob("docs/*.md")
	must.Succeed(t, err)
	for _, name := range append(documents, "README.md", "CONTRIBUTING.md") {
		text, err := os.ReadFile(name)
		must.Succeed(t, err)
		for _, picture := range regexp.MustCompile(`screens/([a-z0-9-]+\.png)`).FindAllStringSubmatch(string(text), -1) {
			shown[picture[1]] = true
			if _, err := os.Stat(filepath.Join("docs/screens", picture[1])); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	pictures, err := filepath.Glob("docs/screens/*")
	if err != nil || len(pictures) == 0 {
		t.Fatal(pictures, err)
	}
	for _, picture := range pictures {
		if !shown[filepath.Base(picture)] {
			t.Errorf("no document shows %s", picture)
		}
	}
}

// TestAuditActionsAreDocumented compares the actions that the audit log shows with the guide for administrators.
func TestAuditActionsAreDocumented(t *testing.T) {
	t.Parallel()
	texts, err := os.ReadFile("web/src/features/admin/texts/auditScreen.ts")
	must.Succeed(t, err)
	guide, err := os.ReadFile("docs/administration.md")
	must.Succeed(t, err)
	actions := regexp.MustCompile(`(?m)^ +'([a-z_]+\.[a-z_]+)': '`).FindAllStringSubmatch(string(texts), -1)
	for _, action := range actions {
		if !strings.Contains(string(guide), "`"+action[1]+"`") {
			t.Errorf("docs/administration.md lacks the action %s", action[1])
		}
	}
	if len(actions) < 100 {
		t.Errorf("%d actions", len(actions))
	}
}

// TestTroubleshootingQuotesLogLines compares the log lines of the runbook with the code.
func TestTroubleshootingQuotesLogLines(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("docs/troubleshooting.md")
	must.Succeed(t, err)
	code := slices.Collect(maps.Values(textFiles(t, ".go")))
	quoted := 0
	table := false
	for line := range strings.Lines(string(text)) {
		switch cells := strings.Split(line, "|"); {
		case len(cells) < 3:
			table = false
		case strings.Contains(cells[1], "ログの文"):
			table = true
		case table && strings.Contains(cells[1], "`"):
			quoted++
			_, message, _ := strings.Cut(cells[1], "`")
			message, _, _ = strings.Cut(message, "`")
			if !slices.ContainsFunc(code, func(file string) bool { return strings.Contains(file, `"`+message+`"`) }) {
				t.Errorf("no program logs %q", message)
			}
		}
	}
	if quoted < 20 {
		t.Errorf("%d log lines are quoted", quoted)
	}
}

// TestDocumentedCommandsProtectSecrets: no command of the documents has the content of a file of settings on its command
// line, which the log of sudo and the list of processes show.
func TestDocumentedCommandsProtectSecrets(t *testing.T) {
	t.Parallel()
	leak := regexp.MustCompile(`(?m)^.*\$\(.*\.env\b.*$`)
	for path, text := range textFiles(t, ".md") {
		for _, line := range leak.FindAllString(text, -1) {
			t.Errorf("%s has the command %s", path, line)
		}
	}
}

// TestDocumentedPodsHaveNoServiceLinks: next to a Service with the name tsumugi, Kubernetes adds variables such as
// TSUMUGI_PORT to pods, which every command refuses as unknown settings.
func TestDocumentedPodsHaveNoServiceLinks(t *testing.T) {
	t.Parallel()
	pods := 0
	for path, text := range textFiles(t, ".md") {
		for _, block := range regexp.MustCompile("(?s)```yaml\n.*?```").FindAllString(text, -1) {
			if !strings.Contains(block, "containers:") {
				continue
			}
			pods++
			if !strings.Contains(block, "enableServiceLinks: false") {
				t.Errorf("%s has a pod with service links:\n%s", path, block)
			}
		}
	}
	if pods == 0 {
		t.Error("no document has a pod")
	}
}
