// Command gen generates the page of the API at /docs/api from openapi.yaml. go generate runs it, so that the server
// links neither the parser of OpenAPI documents nor that of Markdown.
package main

import (
	"fmt"
	"os"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: gen openapi.yaml page.html")
		os.Exit(2)
	}
	if err := generate(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

// generate writes the page of the OpenAPI document in a file.
func generate(document, page string) error {
	source, err := os.ReadFile(document) //nolint:gosec // Named by go:generate.
	if err != nil {
		return err
	}
	html, err := render(source)
	if err != nil {
		return fmt.Errorf("%s: %w", document, err)
	}
	return os.WriteFile(page, html, 0o644) //nolint:gosec // A file of the repository.
}
