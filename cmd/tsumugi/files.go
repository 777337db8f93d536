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

// filesDir returns the folder of uploaded files, or "" for a bucket.
func (c *config) filesDir() string {
	if c.BlobURL == "" {
		return filepath.Join(c.Data, "files")
	}
	if u, err := url.Parse(c.BlobURL); err == nil && !bucket.IsStore(u.Scheme) {
		return filepath.FromSlash(u.Path)
	}
	return ""
}

// openFiles opens the bucket, or the folder of uploaded files, which it creates if necessary.
func (c *config) openFiles(ctx context.Context) (*bucket.Bucket, error) {
	var files *bucket.Bucket
	var err error
	if dir := c.filesDir(); dir != "" {
		files, err = bucket.Open(dir)
	} else {
		files, err = bucket.OpenURL(ctx, c.BlobURL)
	}
	if err != nil {
		name := "--data (TSUMUGI_DATA)"
		if c.BlobURL != "" {
			name = "--blob-url (BLOB_URL)"
		}
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return files, nil
}
