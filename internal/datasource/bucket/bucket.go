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
	"gocloud.dev/blob/azureblob"
	"gocloud.dev/blob/fileblob"
	"gocloud.dev/blob/gcsblob"
	"gocloud.dev/blob/s3blob"
	"gocloud.dev/gcerrors"

	"github.com/tsumugi-ai/tsumugi/internal/datasource"
	"github.com/tsumugi-ai/tsumugi/internal/fault"
)

// Bucket keeps files. It is safe for concurrent use, by several servers too.
type Bucket struct {
	blobs  *blob.Bucket
	folder bool
}

var _ datasource.Files = (*Bucket)(nil)

// IsStore reports whether OpenURL takes URLs of a scheme: s3, gs and azblob.
func IsStore(scheme string) bool {
	return scheme == s3blob.Scheme || scheme == gcsblob.Scheme || scheme == azureblob.Scheme
}

// openTimeout is how long an object store may take to say that a bucket is there.
const openTimeout = 30 * time.Second

// OpenURL returns a bucket of an object store, once it is known to be there: one that speaks S3, Google Cloud Storage,
// or Azure Blob Storage. The packages s3blob, gcsblob and azureblob of gocloud.dev/blob document the query of the URL;
// credentials are found as the store's own tools find them. The caller closes the bucket.
func OpenURL(ctx context.Context, url string) (*Bucket, error) {
	blobs, err := blob.OpenBucket(context.WithoutCancel(ctx), url) // Credentials are renewed in it.
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	ok, err := blobs.IsAccessible(ctx)
	if err == nil && !ok {
		err = errors.New("there is no such bucket")
	}
	if err != nil {
		return nil, errors.Join(err, blobs.Close())
	}
	return &Bucket{blobs: blobs}, nil
}

// Open returns the bucket of a folder, which is made if it is not there. The caller closes it.
func Open(dir string) (*Bucket, error) {
	blobs, err := fileblob.OpenBucket(dir, &fileblob.Options{
		CreateDir: true, DirFileMode: 0o700, NoTempDir: true, Metadata: fileblob.MetadataDontWrite,
	})
	if err != nil {
		return nil, err
	}
	return &Bucket{blobs, true}, nil
}

// Close closes the bucket.
func (b *Bucket) Close() error { return b.blobs.Close() }

// Write implements datasource.Files.
func (b *Bucket) Write(ctx context.Context, id uuid.UUID, content io.Reader) error {
	ctx, cancel := context.WithCancel(ctx) // A writer whose context has ended keeps nothing.
	defer cancel()
	source := &reader{Reader: content, cancel: cancel}
	write := b.upload
	if b.folder {
		write = b.writeFile
	}
	err := write(ctx, cancel, key(id), source)
	if source.err != nil {
		return source.err
	}
	return storageError(err)
}

// upload writes an object of a store. Writers of azureblob panic when they are closed after a failure.
func (b *Bucket) upload(ctx context.Context, _ context.CancelFunc, key string, source io.Reader) error {
	return b.blobs.Upload(ctx, key, source, options())
}

// writeFile writes a file of the folder, and has it reach the disk: what is committed to the database afterwards must
// not outlive it.
func (b *Bucket) writeFile(ctx context.Context, cancel context.CancelFunc, key string, source io.Reader) error {
	var file *os.File
	with := options()
	with.BeforeWrite = func(as func(any) bool) error {
		as(&file)
		return nil
	}
	w, err := b.blobs.NewWriter(ctx, key, with)
	if err != nil {
		return err
	}
	if _, err = io.Copy(w, source); err == nil {
		err = file.Sync()
	}
	if err != nil {
		cancel()
		_ = w.Close() // It says that it was canceled.
		return err
	}
	return w.Close()
}

func options() *blob.WriterOptions {
	return &blob.WriterOptions{ContentType: "application/octet-stream", DisableContentTypeDetection: true}
}

// reader ends the writing when reading fails, and remembers why, so that it is not taken for a failure to write.
type reader struct {
	io.Reader
	cancel context.CancelFunc
	err    error
}

// Read implements io.Reader.
func (r *reader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		r.err = err
		r.cancel()
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
