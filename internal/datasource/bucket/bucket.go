// Package bucket stores uploaded files, and backups, in a folder or in an object store, using gocloud.dev/blob. It
// implements datasource.Files and imports datasource and fault.
//
// The drivers of all object stores are part of every binary, so that all binaries of one source support the same
// settings. They add 10 MB with the build tag disable_grpc_modules, which excludes the gRPC transport of Google's
// client, and 23 MB without it; scripts/build sets it. Google Cloud Storage by its S3-compatible API would need keys
// that Google's own tools do not use.
package bucket

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
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

// Bucket stores files. It is safe for concurrent use, also by several servers.
type Bucket struct {
	blobs  *blob.Bucket
	folder bool

	reads, writes, removals counter
}

// Stats are the operations since the Bucket was opened.
type Stats struct {
	Reads    Count // An object is opened.
	Writes   Count
	Removals Count
}

// Count is the number of operations by their result, without operations that their caller has canceled.
type Count struct{ Done, Failed int64 }

// Stats returns the numbers of operations.
func (b *Bucket) Stats() Stats { return Stats{b.reads.count(), b.writes.count(), b.removals.count()} }

// counter counts operations by their result.
type counter struct{ done, failed atomic.Int64 }

func (c *counter) count() Count { return Count{c.done.Load(), c.failed.Load()} }

// add counts an operation that has ended with err.
func (c *counter) add(ctx context.Context, err error) {
	switch {
	case err == nil:
		c.done.Add(1)
	case ctx.Err() == nil:
		c.failed.Add(1)
	}
}

var _ datasource.Files = (*Bucket)(nil)

// IsStore reports whether OpenURL supports a URL scheme: s3, gs and azblob.
func IsStore(scheme string) bool {
	return scheme == s3blob.Scheme || scheme == gcsblob.Scheme || scheme == azureblob.Scheme
}

// openTimeout is the time limit for checking that a bucket is accessible.
const openTimeout = 30 * time.Second

// OpenURL opens a bucket of an object store that supports S3, Google Cloud Storage or Azure Blob Storage, and checks
// that it is accessible. The packages s3blob, gcsblob and azureblob of gocloud.dev/blob document the query parameters
// of the URL. Credentials come from the same places as for the command line tools of the store. The caller must close
// the bucket.
func OpenURL(ctx context.Context, url string) (*Bucket, error) {
	blobs, err := blob.OpenBucket(context.WithoutCancel(ctx), url) // The bucket renews credentials with this context.
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

// Open returns the bucket of a folder and creates the folder if necessary. The caller must close the bucket.
func Open(dir string) (*Bucket, error) {
	blobs, err := fileblob.OpenBucket(dir, &fileblob.Options{
		CreateDir: true, DirFileMode: 0o700, NoTempDir: true, Metadata: fileblob.MetadataDontWrite,
	})
	if err != nil {
		return nil, err
	}
	return &Bucket{blobs: blobs, folder: true}, nil
}

// Check writes a test object, reads it, and deletes it. It creates no folder.
func (b *Bucket) Check(ctx context.Context) (err error) {
	name := "check-" + uuid.NewString()
	if err := b.blobs.Upload(ctx, name, strings.NewReader(name), options()); err != nil {
		return fmt.Errorf("write: %w", err)
	}
	defer func() {
		if deleted := b.blobs.Delete(ctx, name); deleted != nil && err == nil {
			err = fmt.Errorf("delete: %w", deleted)
		}
	}()
	content, err := b.blobs.ReadAll(ctx, name)
	if err == nil && string(content) != name {
		err = errors.New("the content differs from the written one")
	}
	if err != nil {
		return fmt.Errorf("read: %w", err)
	}
	return nil
}

// Close closes the bucket.
func (b *Bucket) Close() error { return b.blobs.Close() }

func (b *Bucket) Write(ctx context.Context, id uuid.UUID, content io.Reader) error {
	return b.WriteObject(ctx, key(id), content)
}

// WriteObject stores an object completely and durably, or not at all. It replaces an object with the same name. Its
// errors are those of Write.
func (b *Bucket) WriteObject(ctx context.Context, name string, content io.Reader) error {
	writing, cancel := context.WithCancel(ctx) // Canceling the context makes the writer discard its data.
	defer cancel()
	source := &reader{Reader: content, cancel: cancel}
	write := b.upload
	if b.folder {
		write = b.writeFile
	}
	err := write(writing, cancel, name, source)
	if source.err != nil {
		return source.err
	}
	b.writes.add(ctx, err)
	return storageError(err)
}

// upload writes an object. It uses Upload because writers of azureblob panic when they are closed after a failure.
func (b *Bucket) upload(ctx context.Context, _ context.CancelFunc, key string, source io.Reader) error {
	return b.blobs.Upload(ctx, key, source, options())
}

// writeFile writes a file of the folder and syncs it to disk, so that a committed database record never refers to a
// lost file.
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
		_ = w.Close() // It returns the cancellation error.
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	return syncFolders(filepath.Dir(file.Name()), strings.Count(key, "/")+1)
}

// syncFolders syncs a folder and its parents, n folders in all, to disk. Otherwise, a power failure could remove the entry
// of a new file.
func syncFolders(folder string, n int) error {
	for ; n > 0; n-- {
		f, err := os.Open(folder)
		if err != nil {
			return err
		}
		if err := errors.Join(f.Sync(), f.Close()); err != nil {
			return err
		}
		folder = filepath.Dir(folder)
	}
	return nil
}

func options() *blob.WriterOptions {
	return &blob.WriterOptions{ContentType: "application/octet-stream", DisableContentTypeDetection: true}
}

// reader cancels the writing when reading fails, and stores the error, so that it is not reported as a write error.
type reader struct {
	io.Reader
	cancel context.CancelFunc
	err    error
}

func (r *reader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		r.err = err
		r.cancel()
	}
	return n, err
}

// storageError adds the code fault.StorageFull to errors of a full bucket.
func storageError(err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) ||
		gcerrors.Code(err) == gcerrors.ResourceExhausted {
		return fault.Wrap(err, fault.StorageFull, "サーバーの保存容量に空きがないため、ファイルを保存できません。管理者にお知らせください。")
	}
	return err
}

func (b *Bucket) Open(ctx context.Context, id uuid.UUID) (io.ReadCloser, error) {
	return b.OpenObject(ctx, key(id))
}

// OpenObject returns the content of an object. The caller must close it. For a missing object, the error is ErrMissing.
func (b *Bucket) OpenObject(ctx context.Context, name string) (io.ReadCloser, error) {
	content, err := b.blobs.NewReader(ctx, name, nil)
	b.reads.add(ctx, err)
	if gcerrors.Code(err) == gcerrors.NotFound {
		return nil, errors.Join(ErrMissing, err)
	}
	if err != nil {
		return nil, err
	}
	return content, nil
}

// ErrMissing is the error for an object that does not exist.
var ErrMissing = errors.New("the object does not exist")

// Remove implements datasource.Files. In a folder it also removes the temporary files of interrupted writes.
func (b *Bucket) Remove(ctx context.Context, id uuid.UUID) error {
	found := b.blobs.List(&blob.ListOptions{Prefix: key(id)})
	for {
		object, err := found.Next(ctx)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			b.removals.add(ctx, err)
			return err
		}
		if err := b.RemoveObject(ctx, object.Key); err != nil {
			return err
		}
	}
}

// RemoveObject removes an object. Removing a missing object is not an error: another server may have removed it.
func (b *Bucket) RemoveObject(ctx context.Context, name string) error {
	err := b.blobs.Delete(ctx, name)
	if gcerrors.Code(err) == gcerrors.NotFound {
		err = nil
	}
	b.removals.add(ctx, err)
	return err
}

// Object describes a stored object.
type Object struct {
	Name string
	Size int64
}

// Numbers of objects that are listed at a time. Object stores accept at most listPage. A folder is walked once for each
// page.
const (
	listPage       = 1000
	listFolderPage = 1 << 16
)

// List returns the objects whose names begin with prefix, in the order of their names. It ends after an error.
func (b *Bucket) List(ctx context.Context, prefix string) iter.Seq2[Object, error] {
	size := listPage
	if b.folder {
		size = listFolderPage
	}
	return func(yield func(Object, error) bool) {
		for token := blob.FirstPageToken; token != nil; {
			page, next, err := b.blobs.ListPage(ctx, token, size, &blob.ListOptions{Prefix: prefix})
			if err != nil {
				yield(Object{}, err)
				return
			}
			for _, object := range page {
				if !yield(Object{object.Key, object.Size}, nil) {
					return
				}
			}
			token = next
		}
	}
}

// filesPrefix begins the names of all uploaded files.
const filesPrefix = "data-source/"

func key(id uuid.UUID) string { return filesPrefix + id.String() }

// Discard removes a file that was written completely. Unlike Remove, it does not list the folder.
func (b *Bucket) Discard(ctx context.Context, id uuid.UUID) error {
	return b.RemoveObject(ctx, key(id))
}

// Empty reports whether the bucket contains no uploaded files.
func (b *Bucket) Empty(ctx context.Context) (bool, error) {
	for _, err := range b.List(ctx, filesPrefix) {
		return false, err
	}
	return true, nil
}
