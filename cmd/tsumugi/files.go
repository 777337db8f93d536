package main

import (
	"errors"
	"fmt"
	"net/url"
	"path/filepath"

	"github.com/tsumugi-ai/tsumugi/internal/datasource/bucket"
)

// checkFiles checks where files are kept.
func (c *config) checkFiles() error {
	if c.BlobURL != "" {
		u, err := url.Parse(c.BlobURL)
		if err != nil || u.Scheme != "file" || u.Host != "" || !filepath.IsAbs(filepath.FromSlash(u.Path)) || u.RawQuery != "" {
			return errors.New("--blob-url (BLOB_URL) must be a folder, as file:///srv/tsumugi")
		}
	}
	return nil
}

// openFiles opens the folder of uploaded files, which is made if it is not there.
func (c *config) openFiles() (*bucket.Bucket, error) {
	name, dir := "--data (TSUMUGI_DATA)", filepath.Join(c.Data, "files")
	if c.BlobURL != "" {
		u, err := url.Parse(c.BlobURL)
		if err != nil {
			return nil, err
		}
		name, dir = "--blob-url (BLOB_URL)", filepath.FromSlash(u.Path)
	}
	files, err := bucket.Open(dir)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return files, nil
}
