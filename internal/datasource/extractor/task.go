package extractor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/tsumugi-ai/tsumugi/internal/datasource/extract"
	"github.com/tsumugi-ai/tsumugi/internal/datasource/extract/pdf"
	"github.com/tsumugi-ai/tsumugi/internal/redline"
	"github.com/tsumugi-ai/tsumugi/internal/sandbox"
)

// The tasks.
const (
	taskRead    = "read"
	taskCompile = "compile" // Fill the cache, the only inherited file.
	taskRender  = "render"  // A page as a picture.
	taskLocate  = "locate"  // The position of text on a page.
	taskText    = "text"    // The paragraphs of a Word document.
	taskRedline = "redline" // A Word document with changes.
)

// Tasks returns the tasks of an Extractor, for sandbox.Main.
func Tasks() map[string]sandbox.Task {
	return map[string]sandbox.Task{
		taskCompile: {Trusted: true, Run: func(_ context.Context, c *sandbox.Child) error {
			return pdf.Compile(c.Path(0))
		}},
		taskRead: {Run: read},
		taskRender: single(func(in input, engine *pdf.Engine, content []byte) ([]byte, error) {
			return extract.RenderPage(engine, content, in.Page, in.Width)
		}),
		taskLocate: single(func(in input, engine *pdf.Engine, content []byte) ([]byte, error) {
			place, err := extract.Locate(engine, content, in.Page, in.From, in.To)
			if err != nil {
				return nil, err
			}
			return json.Marshal(place)
		}),
		taskText: single(func(_ input, _ *pdf.Engine, content []byte) ([]byte, error) {
			text, err := extract.Paragraphs(content)
			return []byte(text), err
		}),
		taskRedline: single(func(in input, _ *pdf.Engine, content []byte) ([]byte, error) {
			var edit redline.Edit
			if len(content) < in.Edit {
				return nil, io.ErrUnexpectedEOF
			}
			if err := json.Unmarshal(content[:in.Edit], &edit); err != nil {
				return nil, err
			}
			return extract.Redline(content[in.Edit:], edit)
		}),
	}
}

// input is the input of a task.
type input struct {
	Name  string `json:"name"`            // A file name with the extension of the format.
	Page  int    `json:"page,omitempty"`  // From 1.
	Width int    `json:"width,omitempty"` // Of the picture, in pixels.
	From  int    `json:"from,omitempty"`  // Start in bytes of the page's text.
	To    int    `json:"to,omitempty"`    // End in bytes of the page's text.
	Edit  int    `json:"edit,omitempty"`  // Bytes of the redline.Edit as JSON before the file.
	Font  bool   `json:"font,omitempty"`  // The first inherited file is a font.
	Cache bool   `json:"cache,omitempty"` // The last inherited file is the folder with PDFium's compiled code.
}

// receive decodes the input and returns the file. For formats that are read page by page, it starts PDFium before it
// receives the file, because the limits of the file's pages do not cover the start.
func receive(c *sandbox.Child) (in input, engine *pdf.Engine, content []byte, err error) {
	if err := c.Input(&in); err != nil {
		return in, nil, nil, err
	}
	if format, ok := extract.FormatOf(in.Name); ok && format.IsPaged() {
		cfg, err := in.engineConfig(c)
		if err != nil {
			return in, nil, nil, err
		}
		if engine, err = pdf.Start(cfg); err != nil {
			return in, nil, nil, err
		}
	}
	if content, err = c.Content(int64(in.Edit) + extract.MaxSize); err != nil {
		return in, nil, nil, err
	}
	return in, engine, content, pageWriter{c.Writer}.step(0)
}

// engineConfig returns PDFium's configuration with the inherited files.
func (in input) engineConfig(c *sandbox.Child) (cfg pdf.Config, _ error) {
	next := 0
	if in.Font {
		font := c.File(next)
		info, err := font.Stat()
		if err != nil {
			return cfg, err
		}
		cfg.Font = &pdf.FontFile{ReaderAt: font, Size: info.Size()}
		next++
	}
	if in.Cache {
		cfg.Cache = c.Path(next)
	}
	return cfg, nil
}

func read(ctx context.Context, c *sandbox.Child) error {
	in, engine, content, err := receive(c)
	if err != nil {
		return err
	}
	format, ok := extract.FormatOf(in.Name)
	if !ok {
		return fmt.Errorf("no reader for %q", in.Name)
	}
	pages := pageWriter{c.Writer}
	return c.End(format.Read(ctx, engine, content, pages.step, pages.page))
}

// single returns a task with a single answer, which is empty for a page that does not exist.
func single(find func(in input, engine *pdf.Engine, content []byte) ([]byte, error)) sandbox.Task {
	return sandbox.Task{Run: func(_ context.Context, c *sandbox.Child) error {
		in, engine, content, err := receive(c)
		if err != nil {
			return err
		}
		found, err := find(in, engine, content)
		if errors.Is(err, extract.ErrNoPage) {
			found, err = nil, nil
		}
		return c.Answer(found, err)
	}}
}
