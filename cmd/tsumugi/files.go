package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"

	"github.com/tsumugi-ai/tsumugi/internal/datasource/bucket"
)

// checkFiles checks the location of uploaded files.
func (c *config) checkFiles() error {
	if c.BlobURL == "" {
		return nil
	}
	u, err := url.Parse(c.BlobURL)
	switch {
	case err != nil:
	case u.Scheme == "file" && u.Host == "" && filepath.IsAbs(filepath.FromSlash(u.Path)) && u.RawQuery == "":
		return nil
	case bucket.IsStore(u.Scheme) && u.Host != "" && u.User == nil && (u.Path == "" || u.Path == "/"):
		return nil
	}
	return errors.New(
		"--blob-url (BLOB_URL) must be a folder, as file:///srv/tsumugi, or a bucket, as " +
			"s3://name?region=ap-northeast-1, gs://name or azblob://name",
	)
}

// readStart returns the content of a file, at most size bytes of it.
func readStart(name string, size int64) ([]byte, error) {
	file, err := os.Open(name) //nolint:gosec // Named by the operator.
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	return io.ReadAll(io.LimitReader(file, size))
}

// openFiles opens the bucket, or the folder of uploaded files, which it creates if necessary.
func (c *config) openFiles(ctx context.Context) (*bucket.Bucket, error) {
	name, dir := "--data (TSUMUGI_DATA)", filepath.Join(c.Data, "files")
	open := func() (*bucket.Bucket, error) { return bucket.Open(dir) }
	if c.BlobURL != "" {
		u, err := url.Parse(c.BlobURL)
		if err != nil {
			return nil, err
		}
		name, dir = "--blob-url (BLOB_URL)", filepath.FromSlash(u.Path)
		if bucket.IsStore(u.Scheme) {
			open = func() (*bucket.Bucket, error) { return bucket.OpenURL(ctx, c.BlobURL) }
		}
	}
	files, err := open()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return files, nil
}
