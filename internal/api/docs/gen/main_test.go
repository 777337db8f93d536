package main

import (
	"bytes"
	"os"
	"testing"

	"github.com/tsumugi-ai/tsumugi/test/must"
)

// TestPageIsUpToDate compares the page in the repository with openapi.yaml, the scopes and the template.
func TestPageIsUpToDate(t *testing.T) {
	t.Parallel()
	document, err := os.ReadFile("../../openapi.yaml")
	must.Succeed(t, err)
	want, err := render(document)
	must.Succeed(t, err)
	got, err := os.ReadFile("../page.gen.html")
	must.Succeed(t, err)
	if !bytes.Equal(got, want) {
		t.Error("internal/api/docs/page.gen.html is not up to date: run go generate ./internal/api")
	}
}
