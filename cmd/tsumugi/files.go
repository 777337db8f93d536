package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"

	"github.com/tsumugi-ai/tsumugi/internal/datasource/bucket"
)

// fileSettings configures the location of uploaded files.
type fileSettings struct {
	BlobURL string `name:"blob-url" env:"BLOB_URL" placeholder:"URL" help:"Location of uploaded files, the same for all servers: a folder, as file:///srv/tsumugi, or a bucket, as s3://name, gs://name or azblob://name. Default: a folder of the data folder."`
}

// checkFiles checks the location of uploaded files.
func (c *fileSettings) checkFiles() error {
	if c.BlobURL == "" || isLocation(c.BlobURL) {
		return nil
	}
	return errors.New("--blob-url (BLOB_URL) " + locationHelp)
}

// filesLocation returns the URL or the path of the bucket or the folder of uploaded files.
func (c *fileSettings) filesLocation(data string) string {
	return cmp.Or(c.BlobURL, filepath.Join(data, "files"))
}

// openFiles opens the bucket, or the folder of uploaded files, which it creates if necessary.
func (c *fileSettings) openFiles(ctx context.Context, data string) (*bucket.Bucket, error) {
	name := "--blob-url (BLOB_URL)"
	if c.BlobURL == "" {
		name = "--data (TSUMUGI_DATA)"
	}
	files, err := openLocation(ctx, c.filesLocation(data))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return files, nil
}

const locationHelp = "must be a folder, as file:///srv/tsumugi, or a bucket, as s3://name?region=ap-northeast-1, " +
	"gs://name or azblob://name"

// isLocation reports whether a text is the URL of a folder or a bucket.
func isLocation(text string) bool {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return false
	case u.Scheme == "file":
		return u.Host == "" && filepath.IsAbs(filepath.FromSlash(u.Path)) && u.RawQuery == ""
	}
	return bucket.IsStore(u.Scheme) && u.Host != "" && u.User == nil && (u.Path == "" || u.Path == "/")
}

// locationFolder returns the folder that is given by its URL or its path. ok is false for a bucket.
func locationFolder(location string) (dir string, ok bool) {
	u, err := url.Parse(location)
	switch {
	case err == nil && bucket.IsStore(u.Scheme):
		return "", false
	case err == nil && u.Scheme == "file":
		return filepath.FromSlash(u.Path), true
	}
	return location, true
}

// openLocation opens a bucket, or a folder that is given by its URL or its path. It creates the folder if necessary.
func openLocation(ctx context.Context, location string) (*bucket.Bucket, error) {
	if dir, ok := locationFolder(location); ok {
		return bucket.Open(dir)
	}
	return bucket.OpenURL(ctx, location)
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
