package child

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/tsumugi-ai/tsumugi/internal/datasource/extract"
)

// Job is what a child is to do: the argument behind Command, as JSON.
type Job struct {
	Task task   `json:"task"`
	Name string `json:"name"` // A file's name with the extension of its format.
	CPU  uint64 `json:"cpu"`  // Seconds that it may compute.
}

type task string

const taskRead task = "read"

// Main is the child: it does the job that argument names with the file that in holds, and writes frames to out. It gives up
// what it does not need before it looks at the file. An error is one of the child's own; what is wrong with the file is in
// the frames.
func Main(ctx context.Context, argument string, in io.Reader, out io.Writer) error {
	var job Job
	if err := json.Unmarshal([]byte(argument), &job); err != nil {
		return err
	}
	if err := restrict(job.CPU, false); err != nil {
		return err
	}
	content, err := io.ReadAll(io.LimitReader(in, extract.MaxSize))
	if err != nil {
		return err
	}
	format, ok := extract.FormatOf(job.Name)
	if !ok || job.Task != taskRead {
		return fmt.Errorf("no reader for %q %q", job.Task, job.Name)
	}
	frames := newFrameWriter(out)
	if err := frames.step(0); err != nil {
		return err
	}
	err = format.Read(ctx, content, frames.page)
	wrong, ok := errors.AsType[*extract.Unreadable](err)
	if err != nil && !ok {
		return err
	}
	return frames.end(wrong)
}
