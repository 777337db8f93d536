package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
)

// Task is the code for one kind of job. It runs in the child.
type Task struct {
	// Trusted means that the task reads no file: it keeps the server's user and may write files. Runner.RunTrusted
	// starts it.
	Trusted bool
	// Run does the job. It returns only internal errors. Defects of the file are reported by Child.End and
	// Child.Answer, or by a panic.
	Run func(ctx context.Context, c *Child) error
}

// Main runs the child. It drops privileges and runs the task of the job in encoded, the argument after Command. The
// task reads the file from in and writes frames to out. The error is internal, not caused by the file.
func Main(ctx context.Context, encoded string, in io.Reader, out io.Writer, tasks map[string]Task) error {
	var job argument
	if err := json.Unmarshal([]byte(encoded), &job); err != nil {
		return err
	}
	task, ok := tasks[job.Task]
	if !ok {
		return fmt.Errorf("no task %q", job.Task)
	}
	if err := restrict(job.CPU, task.Trusted); err != nil {
		return err
	}
	return task.Run(ctx, &Child{Writer: NewWriter(out), in: in, input: job.Input})
}

// firstFile is the first descriptor after the standard ones.
const firstFile = 3

// Child is the child's side of a job.
type Child struct {
	*Writer

	in    io.Reader
	input json.RawMessage
}

// Input decodes Job.Input.
func (c *Child) Input(to any) error { return json.Unmarshal(c.input, to) }

// Content returns the untrusted file, at most limit bytes of it.
func (c *Child) Content(limit int64) ([]byte, error) { return io.ReadAll(io.LimitReader(c.in, limit)) }

// File returns the inherited file with an index in Job.Files. The child has no permission to open it.
func (c *Child) File(i int) *os.File {
	return os.NewFile(firstFile+uintptr(i), fmt.Sprintf("inherited file %d", i))
}

// Path returns the path of the inherited file or folder with an index in Job.Files.
func (c *Child) Path(i int) string { return descriptorPath(firstFile + uintptr(i)) }

// End writes the last frame: success, or the reason if err is a *fault.UnreadableError. For any other error it panics,
// because the file has crashed its parser.
func (c *Child) End(err error) error {
	if err == nil {
		return c.Frame(endFrame, nil, "")
	}
	wrong, ok := errors.AsType[*fault.UnreadableError](err)
	if !ok {
		panic(err)
	}
	encoded, err := json.Marshal(wrong)
	if err != nil {
		return err
	}
	return c.Frame(failedFrame, encoded, "")
}

// Answer writes the last frame of a job with a single answer, or calls End if err is not nil.
func (c *Child) Answer(found []byte, err error) error {
	if err != nil {
		return c.End(err)
	}
	return c.Frame(answerFrame, found, "")
}
