// Command eval measures the extraction and retrieval of documents on data outside the repository. `just eval [DIR]`
// runs it. With `--embed URL --model NAME` (and OPENAI_API_KEY), it also measures retrieval with vectors. With `--project
// 10000`, it measures the search in a project of that many documents instead. It extracts files in child processes, like
// the server, and exits with status 1 if a goal is missed. It is not part of the product.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/tsumugi-ai/tsumugi/internal/datasource"
	"github.com/tsumugi-ai/tsumugi/internal/datasource/extract"
	"github.com/tsumugi-ai/tsumugi/internal/datasource/extract/pdf"
	"github.com/tsumugi-ai/tsumugi/internal/datasource/extractor"
	"github.com/tsumugi-ai/tsumugi/internal/llm"
	"github.com/tsumugi-ai/tsumugi/internal/sandbox"
)

// errMissed is the error if a goal is missed. The printed figures show the goal.
var errMissed = errors.New("a goal is missed")

func main() {
	if err := run(context.Background(), os.Args[1:], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "eval:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, in io.Reader, out io.Writer) error {
	if len(args) == 2 && args[0] == sandbox.Command {
		return sandbox.Main(ctx, args[1], in, out, extractor.Tasks())
	}
	flags := flag.NewFlagSet("eval", flag.ContinueOnError)
	url := flags.String("embed", "", "base URL of a server for vectors")
	var model datasource.EmbeddingModel
	flags.StringVar(&model.Name, "model", "", "embedding model")
	flags.StringVar(&model.QueryPrefix, "query-prefix", "", "what stands before a question")
	flags.StringVar(&model.PassagePrefix, "passage-prefix", "", "what stands before a passage")
	project := flags.Int("project", 0, "measure the search in a project with this number of documents instead")
	if len(args) == 0 {
		return errors.New("the folder of the data is missing: just eval DIR")
	}
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	embedding := datasource.Embedding{Model: model}
	if *url != "" {
		embedder, err := llm.NewEmbedder(llm.Config{
			BaseURL: *url, Model: model.Name, APIKey: os.Getenv("OPENAI_API_KEY"),
		})
		if err != nil {
			return err
		}
		embedding.Embed = embedder.Embed
	}
	cache := filepath.Join(os.TempDir(), fmt.Sprintf("tsumugi-eval-%d", os.Getuid()))
	reader := extractor.New(sandbox.New(sandbox.Config{}), extractor.Config{Font: pdf.FindFont(), Cache: cache})
	w := bufio.NewWriter(out)
	if *project > 0 {
		met, err := measureProject(ctx, w, reader, filepath.Join(args[0], "jsquad"), *project)
		if err == nil && !met {
			err = errMissed
		}
		return errors.Join(err, w.Flush())
	}
	found, err := measureFinding(ctx, w, reader, filepath.Join(args[0], "jsquad"), embedding)
	if err == nil {
		var read bool
		read, err = measureReading(ctx, w, reader, filepath.Join(args[0], "extract"))
		if err == nil && (!found || !read) {
			err = errMissed
		}
	}
	return errors.Join(err, w.Flush())
}

// pagesOf extracts a file in the same way as the server.
func pagesOf(ctx context.Context, reader *extractor.Extractor, name string) (pages []extract.Page, err error) {
	file, err := os.Open(name) //nolint:gosec // The user chooses the file.
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	err = reader.Extract(ctx, filepath.Base(name), file, func(p extract.Page, _ int) error {
		pages = append(pages, p)
		return nil
	})
	return pages, err
}

// linesOf reads a file with one JSON value per line.
func linesOf[T any](name string) (list []T, err error) {
	file, err := os.Open(name) //nolint:gosec // The user chooses the file.
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	for d := json.NewDecoder(file); ; {
		var v T
		if err := d.Decode(&v); errors.Is(err, io.EOF) {
			return list, nil
		} else if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		list = append(list, v)
	}
}
