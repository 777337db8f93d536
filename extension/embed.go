// Package extension embeds the built Chrome extension. It imports nothing of this project.
package extension

import (
	"embed"
	"io/fs"
)

//go:embed all:dist
var dist embed.FS

// Files returns the built extension, with manifest.json at its root. It is empty if the server was built without it.
func Files() fs.FS {
	files, err := fs.Sub(dist, "dist")
	if err != nil {
		panic("extension: " + err.Error()) // The name is a constant, checked at build time.
	}
	return files
}
