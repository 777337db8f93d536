// Package web embeds the built React app, so that the server is one file. It imports nothing.
package web

import (
	"embed"
	"io/fs"
)

//go:embed all:dist
var dist embed.FS

// App returns the built app, with index.html at its root. It is empty if the app was not built before the server.
func App() fs.FS {
	app, err := fs.Sub(dist, "dist")
	if err != nil {
		panic("web: " + err.Error()) // The name is a constant that the compiler has checked.
	}
	return app
}
