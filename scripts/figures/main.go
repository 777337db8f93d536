// Command figures prints the size of the code base: lines, exported names, interfaces, packages, routes, and the size of
// bin/tsumugi. It counts the files that git tracks, in the folder where it runs, without generated ones.
//
// Tests are *_test.go, *.test.ts and *.spec.ts files, the folders test, bench and e2e, the helpers of tests (Go packages
// whose name ends in "test", testing.ts and testSetup.ts). They count only as lines of tests.
package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"regexp"
	"slices"
	"strings"
)

func main() {
	if err := run(os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// figures are the sizes of the code base.
type figures struct {
	goLines, tsLines, goTests, tsTests int
	exported, interfaces               int
	packages                           map[string]bool // By folder.
}

func run(out io.Writer) error {
	list, err := exec.CommandContext(context.Background(), "git", "ls-files", "-z", "*.go", "*.ts", "*.tsx").Output()
	if err != nil {
		return fmt.Errorf("git ls-files: %w", err)
	}
	f := figures{packages: make(map[string]bool)}
	for name := range strings.SplitSeq(strings.TrimSuffix(string(list), "\x00"), "\x00") {
		source, err := os.ReadFile(name) //nolint:gosec // A file of this repository.
		if errors.Is(err, fs.ErrNotExist) {
			continue // Deleted, but not yet committed.
		}
		if err == nil {
			err = f.add(name, source)
		}
		if err != nil {
			return err
		}
	}
	routes, err := routes("internal/api/openapi.yaml")
	if err != nil {
		return err
	}
	binary := "not built"
	if info, err := os.Stat("bin/tsumugi"); err == nil {
		binary = fmt.Sprintf("%.1f MiB", float64(info.Size())/(1<<20))
	}
	for _, row := range []struct {
		name  string
		value any
	}{
		{"lines of Go", f.goLines},
		{"lines of TypeScript", f.tsLines},
		{"lines of tests in Go", f.goTests},
		{"lines of tests in TypeScript", f.tsTests},
		{"exported names of Go", f.exported},
		{"interfaces of Go", f.interfaces},
		{"packages of Go", len(f.packages)},
		{"routes", routes},
		{"size of bin/tsumugi", binary},
	} {
		if _, err := fmt.Fprintf(out, "%-30s%10v\n", row.name, row.value); err != nil {
			return err
		}
	}
	return nil
}

// add counts a file.
func (f *figures) add(name string, source []byte) error {
	lines := bytes.Count(source, []byte("\n"))
	isGo := path.Ext(name) == ".go"
	switch {
	case isGenerated(name, source):
	case isGo && isTest(name):
		f.goTests += lines
	case isTest(name):
		f.tsTests += lines
	case isGo:
		f.goLines += lines
		return f.addNames(name, source)
	default:
		f.tsLines += lines
	}
	return nil
}

// generated is the comment of https://go.dev/s/generatedcode.
var generated = regexp.MustCompile(`(?m)^// Code generated .* DO NOT EDIT\.$`)

func isGenerated(name string, source []byte) bool {
	return strings.Contains(path.Base(name), ".gen.") || path.Ext(name) == ".go" && generated.Match(source)
}

func isTest(name string) bool {
	base, dir := path.Base(name), strings.Split(path.Dir(name), "/")
	return strings.HasSuffix(base, "_test.go") || strings.Contains(base, ".test.") || strings.Contains(base, ".spec.") ||
		path.Ext(name) == ".go" && strings.HasSuffix(path.Dir(name), "test") ||
		strings.HasPrefix(base, "testing.ts") || base == "testSetup.ts" ||
		dir[0] == "test" || dir[0] == "bench" || slices.Contains(dir, "e2e")
}

// addNames counts the exported names and the interfaces of a Go file: functions, methods of exported types, types,
// variables and constants.
func (f *figures) addNames(name string, source []byte) error {
	file, err := parser.ParseFile(token.NewFileSet(), name, source, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	f.packages[path.Dir(name)] = true
	for _, declaration := range file.Decls {
		f.exported += exported(declaration)
	}
	ast.Inspect(file, func(node ast.Node) bool {
		if spec, ok := node.(*ast.TypeSpec); ok {
			if _, ok := spec.Type.(*ast.InterfaceType); ok {
				f.interfaces++
			}
		}
		return true
	})
	return nil
}

// exported returns the number of exported names that a declaration defines.
func exported(declaration ast.Decl) int {
	var names []*ast.Ident
	switch d := declaration.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil || ast.IsExported(receiver(d.Recv.List[0].Type)) {
			names = append(names, d.Name)
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch s := spec.(type) {
			case *ast.TypeSpec:
				names = append(names, s.Name)
			case *ast.ValueSpec:
				names = append(names, s.Names...)
			}
		}
	}
	return len(slices.DeleteFunc(names, func(name *ast.Ident) bool { return !name.IsExported() }))
}

// receiver returns the name of a receiver's type.
func receiver(of ast.Expr) string {
	switch t := of.(type) {
	case *ast.StarExpr:
		return receiver(t.X)
	case *ast.IndexExpr:
		return receiver(t.X)
	case *ast.IndexListExpr:
		return receiver(t.X)
	case *ast.Ident:
		return t.Name
	}
	return ""
}

// operation is a method of a path in the API's description.
var operation = regexp.MustCompile(`(?m)^    (?:get|post|put|patch|delete|head|options):`)

// routes returns the number of routes in the API's description. A test compares it with the router.
func routes(name string) (int, error) {
	source, err := os.ReadFile(name) //nolint:gosec // A file of this repository.
	if err != nil {
		return 0, err
	}
	_, paths, _ := strings.Cut(string(source), "\npaths:\n")
	paths, _, _ = strings.Cut(paths, "\ncomponents:\n")
	return len(operation.FindAllString(paths, -1)), nil
}
