// Package bucket keeps uploaded files in a folder or in an object store, by gocloud.dev/blob. It implements
// datasource.Files and imports datasource and fault.
package bucket

import (
	"context"
	"errors"
	"io"
	"os"
	"syscall"
	"time"

	"github.com/google/uuid"
	"gocloud.dev/blob"
	"gocloud.dev/blob/fileblob"
	"gocloud.dev/blob/s3blob"
	"gocloud.dev/gcerrors"

	"github.com/tsumugi-ai/tsumugi/internal/datasource"
	"github.com/tsumugi-ai/tsumugi/internal/fault"
)

// Bucket keeps files. It is safe for concurrent use, by several servers too.
type Bucket struct{ blobs *blob.Bucket }

var _ datasource.Files = (*Bucket)(nil)

// Scheme is that of the URLs that OpenURL takes.
const Scheme = s3blob.Scheme

// openPatience is how long an object store may take to say that a bucket is there.
const openPatience = 30 * time.Second

// OpenURL returns a bucket of an object store that speaks S3, once it is known to be there. What the query of the URL
// may say is told by gocloud.dev/blob/s3blob; credentials come from where AWS's own tools look for them. The caller
// closes the bucket.
func OpenURL(ctx context.Context, url string) (*Bucket, error) {
	blobs, err := blob.OpenBucket(context.WithoutCancel(ctx), url) // Credentials are renewed in it.
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, openPatience)
	defer cancel()
	ok, err := blobs.IsAccessible(ctx)
	if err == nil && !ok {
		err = errors.New("there is no such bucket")
	}
	if err != nil {
		return nil, errors.Join(err, blobs.Close())
	}
	return &Bucket{blobs}, nil
}

// Open returns the bucket of a folder, which is made if it is not there. The caller closes it.
func Open(dir string) (*Bucket, error) {
	blobs, err := fileblob.OpenBucket(dir, &fileblob.Options{
		CreateDir: true, DirFileMode: 0o700, NoTempDir: true, Metadata: fileblob.MetadataDontWrite,
	})
	if err != nil {
		return nil, err
	}
	return &Bucket{blobs}, nil
}

// Close closes the bucket.
func (b *Bucket) Close() error { return b.blobs.Close() }

// Write implements datasource.Files.
func (b *Bucket) Write(ctx context.Context, id uuid.UUID, content io.Reader) error {
	ctx, cancel := context.WithCancel(ctx) // A writer whose context has ended keeps nothing.
	defer cancel()
	var file *os.File
	w, err := b.blobs.NewWriter(ctx, key(id), &blob.WriterOptions{
		ContentType: "application/octet-stream", DisableContentTypeDetection: true,
		BeforeWrite: func(as func(any) bool) error {
			as(&file)
			return nil
		},
	})
	if err != nil {
		return storageError(err)
	}
	source := &reader{Reader: content}
	_, err = io.Copy(w, source)
	switch {
	case source.err != nil:
		err = source.err
	case err != nil:
		err = storageError(err)
	case file != nil: // What is committed to the database after this must not be lost alone.
		err = storageError(file.Sync())
	}
	if err != nil {
		cancel()
		_ = w.Close() // It says that it was canceled.
		return err
	}
	return storageError(w.Close())
}

// reader remembers why reading failed, so that it is not taken for a failure to write.
type reader struct {
	io.Reader
	err error
}

// Read implements io.Reader.
func (r *reader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		r.err = err
	}
	return n, err
}

// storageError gives a failure of the bucket its code.
func storageError(err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) ||
		gcerrors.Code(err) == gcerrors.ResourceExhausted {
		return fault.Wrap(err, datasource.StorageFull, "サーバーの保存容量に空きがないため、ファイルを保存できません。管理者にお知らせください。")
	}
	return err
}

// Open implements datasource.Files.
func (b *Bucket) Open(ctx context.Context, id uuid.UUID) (io.ReadCloser, error) {
	return b.blobs.NewReader(ctx, key(id), nil)
}

// Remove implements datasource.Files.
func (b *Bucket) Remove(ctx context.Context, id uuid.UUID) error {
	found := b.blobs.List(&blob.ListOptions{Prefix: key(id)})
	for {
		object, err := found.Next(ctx)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = b.blobs.Delete(ctx, object.Key)
		}
		if err != nil && gcerrors.Code(err) != gcerrors.NotFound { // Another server was faster.
			return err
		}
	}
}

func key(id uuid.UUID) string { return "data-source/" + id.String() }
