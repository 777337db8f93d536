// Package web embeds the built React app, so that the server is a single file. It imports nothing of this project.
package web

import (
	"embed"
	"io/fs"
)

//go:embed all:dist
var dist embed.FS

// App returns the built app, with index.html at its root. It is empty if the server was built without the app.
func App() fs.FS {
	app, err := fs.Sub(dist, "dist")
	if err != nil {
		panic("web: " + err.Error()) // The name is a constant, checked at build time.
	}
	return app
}
