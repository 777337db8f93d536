package tsumugi_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// TestReliabilityIsTested compares the rows of docs/reliability.md with the tests that carry their numbers.
func TestReliabilityIsTested(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("docs/reliability.md")
	if err != nil {
		t.Fatal(err)
	}
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
	if err != nil {
		t.Fatal(err)
	}
	for row, ok := range tested {
		if !ok {
			t.Errorf("no test carries %s in its name", row)
		}
	}
	if len(tested) < 50 {
		t.Errorf("%d rows", len(tested))
	}
}
