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
)

// Job is what a child is to do: the argument behind Command, as JSON.
type Job struct {
	Task  task   `json:"task"`
	Name  string `json:"name"`            // A file's name with the extension of its format.
	CPU   uint64 `json:"cpu"`             // Seconds that it may compute.
	Font  bool   `json:"font,omitempty"`  // Its descriptor 3 is a font.
	Cache bool   `json:"cache,omitempty"` // Its last descriptor is the folder with PDFium's compiled code.
}

type task string

const (
	taskRead    task = "read"
	taskCompile task = "compile" // Fill the cache.
)

// lent is the first descriptor behind the standard ones.
const lent = 3

// Main is the child: it does the job that argument names with the file that in holds, and writes frames to out. It gives up
// what it does not need before it looks at the file. An error is one of the child's own; what is wrong with the file is in
// the frames, or a panic.
func Main(ctx context.Context, argument string, in io.Reader, out io.Writer) error {
	var job Job
	if err := json.Unmarshal([]byte(argument), &job); err != nil {
		return err
	}
	if err := restrict(job.CPU, job.Task == taskCompile); err != nil {
		return err
	}
	tools, err := job.tools()
	if err != nil {
		return err
	}
	if job.Task == taskCompile {
		engine, err := pdf.Start(tools.PDF)
		if err != nil {
			return err
		}
		return engine.Close()
	}
	content, err := io.ReadAll(io.LimitReader(in, extract.MaxSize))
	if err != nil {
		return err
	}
	return job.read(ctx, tools, content, newFrameWriter(out))
}

// tools returns what the parent has lent: files that are open, for the child could not open them itself.
func (j Job) tools() (tools extract.Tools, _ error) {
	descriptor := uintptr(lent)
	if j.Font {
		font := os.NewFile(descriptor, "font")
		info, err := font.Stat()
		if err != nil {
			return tools, err
		}
		tools.PDF.Font = &pdf.FontFile{ReaderAt: font, Size: info.Size()}
		descriptor++
	}
	if j.Cache {
		tools.PDF.Cache = descriptorPath(descriptor)
	}
	return tools, nil
}

func (j Job) read(ctx context.Context, tools extract.Tools, content []byte, frames *frameWriter) error {
	format, ok := extract.FormatOf(j.Name)
	if !ok || j.Task != taskRead {
		return fmt.Errorf("no reader for %q %q", j.Task, j.Name)
	}
	if err := frames.step(0); err != nil {
		return err
	}
	err := format.Read(ctx, tools, content, frames)
	wrong, ok := errors.AsType[*extract.Unreadable](err)
	if err != nil && !ok {
		panic(err) // The file has broken its reader.
	}
	return frames.end(wrong)
}
