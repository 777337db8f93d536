package child

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/tsumugi-ai/tsumugi/internal/datasource/extract"
	"github.com/tsumugi-ai/tsumugi/internal/datasource/extract/pdf"
	"github.com/tsumugi-ai/tsumugi/internal/redline"
)

// Job is the task of a child: the argument after Command, as JSON.
type Job struct {
	Task  task   `json:"task"`
	Name  string `json:"name"`            // A file name with the extension of the format.
	CPU   uint64 `json:"cpu"`             // Limit, in seconds.
	Page  int    `json:"page,omitempty"`  // From 1.
	Width int    `json:"width,omitempty"` // Of the picture, in pixels.
	From  int    `json:"from,omitempty"`  // Start in bytes of the page's text.
	To    int    `json:"to,omitempty"`    // End in bytes of the page's text.
	Edit  int    `json:"edit,omitempty"`  // Bytes of the redline.Edit as JSON before the file.
	Font  bool   `json:"font,omitempty"`  // Descriptor 3 is a font.
	Cache bool   `json:"cache,omitempty"` // The last descriptor is the folder with PDFium's compiled code.
}

type task string

const (
	taskRead    task = "read"
	taskCompile task = "compile" // Fill the cache.
	taskRender  task = "render"  // A page as a picture.
	taskLocate  task = "locate"  // The position of text on a page.
	taskText    task = "text"    // The paragraphs of a Word document.
	taskRedline task = "redline" // A Word document with changes.
	taskPicture task = "picture" // Convert a picture into its stored form.
)

// firstShared is the first descriptor after the standard ones.
const firstShared = 3

// Main runs the child. It drops privileges, reads the file from in, does the job in argument, and writes frames to out.
// It returns only internal errors. Defects of the file are reported in frames, or by a panic.
func Main(ctx context.Context, argument string, in io.Reader, out io.Writer) error {
	var job Job
	if err := json.Unmarshal([]byte(argument), &job); err != nil {
		return err
	}
	if err := restrict(job.CPU, job.Task == taskCompile); err != nil {
		return err
	}
	cfg, err := job.shared()
	if err != nil {
		return err
	}
	if job.Task == taskCompile {
		return pdf.Compile(cfg.Cache)
	}
	// Start PDFium before receiving the file, because the limits of the file's pages do not cover the start.
	var engine *pdf.Engine
	if format, ok := extract.FormatOf(job.Name); ok && format.IsPaged() {
		if engine, err = pdf.Start(cfg); err != nil {
			return err
		}
	}
	content, err := io.ReadAll(io.LimitReader(in, int64(job.Edit)+extract.MaxSize))
	if err != nil {
		return err
	}
	frames := newFrameWriter(out)
	switch job.Task {
	case taskRender, taskLocate, taskText, taskRedline:
		return job.look(engine, content, frames)
	case taskPicture:
		return readPicture(content, frames)
	}
	return job.read(ctx, engine, content, frames)
}

// shared returns PDFium's configuration with the inherited files. The child has no permission to open these itself.
func (j Job) shared() (cfg pdf.Config, _ error) {
	descriptor := uintptr(firstShared)
	if j.Font {
		font := os.NewFile(descriptor, "font")
		info, err := font.Stat()
		if err != nil {
			return cfg, err
		}
		cfg.Font = &pdf.FontFile{ReaderAt: font, Size: info.Size()}
		descriptor++
	}
	if j.Cache {
		cfg.Cache = descriptorPath(descriptor)
	}
	return cfg, nil
}

func (j Job) read(ctx context.Context, engine *pdf.Engine, content []byte, frames *frameWriter) error {
	format, ok := extract.FormatOf(j.Name)
	if !ok || j.Task != taskRead {
		return fmt.Errorf("no reader for %q %q", j.Task, j.Name)
	}
	if err := frames.step(0); err != nil {
		return err
	}
	err := format.Read(ctx, engine, content, frames)
	wrong, ok := errors.AsType[*extract.UnreadableError](err)
	if err != nil && !ok {
		panic(err) // The file crashed its reader.
	}
	return frames.end(wrong)
}

// look does a job with a single answer.
func (j Job) look(engine *pdf.Engine, content []byte, frames *frameWriter) error {
	if err := frames.step(0); err != nil {
		return err
	}
	found, err := j.find(engine, content)
	wrong, ok := errors.AsType[*extract.UnreadableError](err)
	switch {
	case ok:
		return frames.end(wrong)
	case errors.Is(err, extract.ErrNoPage):
		return frames.answer(noPageFrame, nil)
	case err != nil:
		panic(err)
	}
	return frames.answer(foundFrame, found)
}

func (j Job) find(engine *pdf.Engine, content []byte) ([]byte, error) {
	switch j.Task {
	case taskRender:
		return extract.RenderPage(engine, content, j.Page, j.Width)
	case taskLocate:
		place, err := extract.Locate(engine, content, j.Page, j.From, j.To)
		if err != nil {
			return nil, err
		}
		return json.Marshal(place)
	case taskText:
		text, err := extract.Paragraphs(content)
		return []byte(text), err
	}
	var edit redline.Edit
	if len(content) < j.Edit {
		return nil, io.ErrUnexpectedEOF
	}
	if err := json.Unmarshal(content[:j.Edit], &edit); err != nil {
		return nil, err
	}
	return extract.Redline(content[j.Edit:], edit)
}
