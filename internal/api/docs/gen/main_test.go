package main

import (
	"bytes"
	"os"
	"testing"
)

// TestPageIsUpToDate compares the page in the repository with openapi.yaml, the scopes and the template.
func TestPageIsUpToDate(t *testing.T) {
	t.Parallel()
	document, err := os.ReadFile("../../openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	want, err := render(document)
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("../page.gen.html")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("internal/api/docs/page.gen.html is not up to date: run go generate ./internal/api")
	}
}
