// Command image writes an OCI image with the server to an archive, without Docker.
//
// The archive is a tar file in the OCI image layout, which podman, skopeo and crane read, with the manifest.json that
// `docker load` needs. The same arguments give the same bytes.
package main

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// The account that runs the server in the image, and its data folder.
const (
	userID = 65532
	data   = "/var/lib/tsumugi"
)

// options describe an image.
type options struct {
	program string // File of the server.
	root    string // Optional: tar file of a root file system, below the server.
	arch    string // GOARCH.
	version string
	commit  string
	created time.Time // Time of all files.
	out     string    // File of the archive.
}

func main() {
	var opts options
	flag.StringVar(&opts.program, "program", "", "file of the server")
	flag.StringVar(&opts.root, "root", "", "tar file of a root file system, below the server")
	flag.StringVar(&opts.arch, "arch", "", "processor, as GOARCH names it")
	flag.StringVar(&opts.version, "version", "", "version of the server")
	flag.StringVar(&opts.commit, "commit", "", "commit of the source")
	flag.StringVar(&opts.out, "out", "", "file of the archive")
	created := flag.String("time", "", "time of all files, in RFC 3339")
	flag.Parse()
	err := errors.New("-program, -arch, -version, -commit, -time and -out are required")
	if opts.program != "" && opts.arch != "" && opts.version != "" && opts.commit != "" && opts.out != "" {
		if opts.created, err = time.Parse(time.RFC3339, *created); err == nil {
			err = write(opts)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
}

// write writes the image to an archive.
func write(opts options) error {
	img, err := build(opts)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "image")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	l, err := layout.Write(dir, empty.Index)
	if err != nil {
		return err
	}
	name := "tsumugi:" + opts.version
	if err := l.AppendImage(img, layout.WithPlatform(v1.Platform{OS: "linux", Architecture: opts.arch}),
		layout.WithAnnotations(map[string]string{
			"org.opencontainers.image.ref.name": name,
			"io.containerd.image.name":          "docker.io/library/" + name, // For Docker's containerd image store.
		}),
	); err != nil {
		return err
	}
	if err := writeDockerManifest(dir, name, img); err != nil {
		return err
	}
	return archive(dir, opts)
}

// writeDockerManifest writes the manifest of Docker's own format, which names the blobs of the OCI image layout.
func writeDockerManifest(dir, name string, img v1.Image) error {
	manifest, err := img.Manifest()
	if err != nil {
		return err
	}
	blob := func(d v1.Descriptor) string { return "blobs/" + d.Digest.Algorithm + "/" + d.Digest.Hex }
	docker := tarball.Descriptor{Config: blob(manifest.Config), RepoTags: []string{name}}
	for _, layer := range manifest.Layers {
		docker.Layers = append(docker.Layers, blob(layer))
	}
	text, err := json.Marshal(tarball.Manifest{docker})
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "manifest.json"), text, 0o600)
}

// build returns the image: the optional root file system, and a layer with the server.
func build(opts options) (v1.Image, error) {
	program, err := programLayer(opts)
	if err != nil {
		return nil, err
	}
	layers := []v1.Layer{program}
	if opts.root != "" {
		root, err := tarball.LayerFromFile(opts.root, tarball.WithMediaType(types.OCILayer))
		if err != nil {
			return nil, err
		}
		layers = []v1.Layer{root, program}
	}
	img := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	for _, layer := range layers {
		if img, err = mutate.Append(img, mutate.Addendum{
			Layer: layer, MediaType: types.OCILayer, History: v1.History{Created: v1.Time{Time: opts.created}},
		}); err != nil {
			return nil, err
		}
	}
	file, err := img.ConfigFile()
	if err != nil {
		return nil, err
	}
	file = file.DeepCopy()
	file.OS, file.Architecture, file.Created = "linux", opts.arch, v1.Time{Time: opts.created}
	file.Config = v1.Config{
		User:       fmt.Sprintf("%d:%d", userID, userID),
		Entrypoint: []string{"/usr/bin/tsumugi"},
		Cmd:        []string{"serve"},
		Env:        []string{"PATH=/usr/bin:/bin", "TSUMUGI_LISTEN=0.0.0.0:8080", "TSUMUGI_DATA=" + data},
		WorkingDir: data, Volumes: map[string]struct{}{data: {}}, ExposedPorts: map[string]struct{}{"8080/tcp": {}},
		StopSignal: "SIGTERM",
		Healthcheck: &v1.HealthConfig{
			Test: []string{"CMD", "/usr/bin/tsumugi", "ready"}, Interval: 10 * time.Second, Timeout: 5 * time.Second,
			StartPeriod: time.Minute, Retries: 3,
		},
		Labels: map[string]string{
			"org.opencontainers.image.title":    "Tsumugi",
			"org.opencontainers.image.version":  opts.version,
			"org.opencontainers.image.revision": opts.commit,
			"org.opencontainers.image.licenses": "Apache-2.0",
		},
	}
	return mutate.ConfigFile(img, file)
}

// programLayer returns the layer with the server, its account and its folders.
func programLayer(opts options) (v1.Layer, error) {
	program, err := os.ReadFile(opts.program)
	if err != nil {
		return nil, err
	}
	var files bytes.Buffer
	w := tar.NewWriter(&files)
	folder := func(name string, mode int64, owner int) tar.Header {
		return tar.Header{Typeflag: tar.TypeDir, Name: name, Mode: mode, Uid: owner, Gid: owner}
	}
	file := func(name string, mode int64) tar.Header {
		return tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: mode}
	}
	account := fmt.Sprintf("tsumugi:x:%d:", userID)
	entries := []struct {
		tar.Header
		content string
	}{
		{folder("tmp/", 0o1777, 0), ""},
		{folder("usr/", 0o755, 0), ""},
		{folder("usr/bin/", 0o755, 0), ""},
		{folder("var/", 0o755, 0), ""},
		{folder("var/lib/", 0o755, 0), ""},
		{folder("var/lib/tsumugi/", 0o700, userID), ""},
		{file("usr/bin/tsumugi", 0o755), string(program)},
	}
	if opts.root == "" {
		entries = append(entries, []struct {
			tar.Header
			content string
		}{
			{folder("etc/", 0o755, 0), ""},
			{file("etc/passwd", 0o644), fmt.Sprintf("root:x:0:0::/:/\n%s%d::%s:/\n", account, userID, data)},
			{file("etc/group", 0o644), "root:x:0:\n" + account + "\n"},
		}...)
	}
	for _, entry := range entries {
		entry.Size, entry.ModTime, entry.Format = int64(len(entry.content)), opts.created, tar.FormatPAX
		if err := w.WriteHeader(&entry.Header); err != nil {
			return nil, err
		}
		if _, err := io.WriteString(w, entry.content); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(files.Bytes())), nil
	}, tarball.WithMediaType(types.OCILayer))
}

// archive writes the files of a folder, in the order of their names, to a tar file.
func archive(dir string, opts options) (err error) {
	out, err := os.Create(opts.out)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	w := tar.NewWriter(out)
	if err := filepath.WalkDir(dir, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		content, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		inside, err := filepath.Rel(dir, name)
		if err != nil {
			return err
		}
		if err := w.WriteHeader(&tar.Header{
			Name: filepath.ToSlash(inside), Mode: 0o644, Size: int64(len(content)), ModTime: opts.created,
		}); err != nil {
			return err
		}
		_, err = w.Write(content)
		return err
	}); err != nil {
		return err
	}
	return w.Close()
}
