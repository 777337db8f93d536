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
	document := must.Get(os.ReadFile("../../openapi.yaml"))(t)
	want := must.Get(render(document))(t)
	got := must.Get(os.ReadFile("../page.gen.html"))(t)
	if !bytes.Equal(got, want) {
		t.Error("internal/api/docs/page.gen.html is not up to date: run go generate ./internal/api")
	}
}
