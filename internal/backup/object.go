package backup

import (
	"compress/gzip"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"sync"
	"sync/atomic"

	"filippo.io/age"

	"github.com/tsumugi-ai/tsumugi/internal/datasource/bucket"
)

// errDamaged means that an object of a backup is not the one that was written.
var errDamaged = errors.New("its size or SHA-256 is not that of the manifest")

// hashingReader computes the size and the hash of the content that is read.
type hashingReader struct {
	source io.Reader
	hash   hash.Hash
	size   int64
}

func newHashingReader(source io.Reader) *hashingReader {
	return &hashingReader{source: source, hash: sha256.New()}
}

func (r *hashingReader) Read(p []byte) (int, error) {
	n, err := r.source.Read(p)
	_, _ = r.hash.Write(p[:n]) // It never fails.
	r.size += int64(n)
	return n, err
}

func (r *hashingReader) object() Object { return Object{r.size, Hash(r.hash.Sum(nil))} }

// objectReader reads the original content of a stored object. It verifies the whole object before it returns io.EOF or
// another error.
type objectReader struct {
	name  string
	want  Object
	raw   *hashingReader
	plain io.Reader // Reads from raw.
	close func() error
	err   error // After the end.
}

// openObject opens an object that may be compressed, and is encrypted if there are identities.
func openObject(ctx context.Context, from *bucket.Bucket, name string, want Object, identities Identities,
	compressed bool,
) (*objectReader, error) {
	stored, err := from.OpenObject(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	r := &objectReader{name: name, want: want, raw: newHashingReader(stored), close: stored.Close}
	r.plain = r.raw
	if len(identities) > 0 {
		r.plain, err = age.Decrypt(r.plain, identities...)
	}
	if err == nil && compressed {
		r.plain, err = gzip.NewReader(r.plain)
	}
	if err != nil {
		r.err = r.finish(err)
	}
	return r, nil
}

func (r *objectReader) Read(p []byte) (int, error) {
	if r.err != nil {
		return 0, r.err
	}
	n, err := r.plain.Read(p)
	if err != nil {
		r.err = r.finish(err)
	}
	return n, r.err
}

// finish reads the rest of the stored object. It returns errDamaged if that explains err.
func (r *objectReader) finish(err error) error {
	if _, readErr := io.Copy(io.Discard, r.raw); readErr != nil {
		return fmt.Errorf("%s: %w", r.name, readErr)
	}
	if r.raw.object() != r.want {
		return fmt.Errorf("%s: %w", r.name, errDamaged)
	}
	if errors.Is(err, io.EOF) {
		return io.EOF
	}
	return fmt.Errorf("%s: %w", r.name, err)
}

// failure returns the error that has ended the reading too early, or nil.
func (r *objectReader) failure() error {
	if errors.Is(r.err, io.EOF) {
		return nil
	}
	return r.err
}

func (r *objectReader) Close() error { return r.close() }

// workers is the number of files that are copied at a time, because object stores take long for each of them.
const workers = 8

// forEach calls f for 0 to n-1, limit of them at a time, until one of them fails.
func forEach(ctx context.Context, n, limit int, f func(ctx context.Context, i int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var next atomic.Int64
	var all sync.WaitGroup
	for range min(n, limit) {
		all.Go(func() {
			for i := int(next.Add(1)) - 1; i < n && ctx.Err() == nil; i = int(next.Add(1)) - 1 {
				if err := f(ctx, i); err != nil {
					cancel(err)
				}
			}
		})
	}
	all.Wait()
	return context.Cause(ctx)
}

// counter reports progress. It is safe for concurrent use.
type counter struct {
	items    string
	done     atomic.Int64
	total    int
	progress Progress
}

func (c *counter) add() { c.progress(c.items, int(c.done.Add(1)), c.total) }
