package release_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/tsumugi-ai/tsumugi/test/must"
)

// TestSlimImages runs the images with an external PostgreSQL.
func TestSlimImages(t *testing.T) {
	t.Parallel()
	images := images(t, "slim")
	database := startPostgres(t, newDebian(t))
	for _, image := range images {
		testImage(t, image, "DATABASE_URL="+database)
	}
}

// TestFullImages runs the images with their own PostgreSQL. scripts/dist --quick builds none.
func TestFullImages(t *testing.T) {
	t.Parallel()
	for _, image := range images(t, "full") {
		testImage(t, image)
	}
}

// images returns the images of a kind for all processors whose programs this machine runs, itself or with qemu-user.
func images(t *testing.T, kind string) (found []string) {
	t.Helper()
	for arch, emulator := range map[string]string{"amd64": "qemu-x86_64", "arm64": "qemu-aarch64"} {
		if _, err := os.Stat("/proc/sys/fs/binfmt_misc/" + emulator); err == nil || arch == runtime.GOARCH {
			found = append(found, dist(t, "*-"+kind+"-linux-"+arch+".tar")...)
		}
	}
	if len(found) == 0 {
		t.Skipf("the release has no %s images", kind)
	}
	return found
}

// testImage runs an image with the account and the environment of its configuration, on a read-only file system with a
// writable folder for each volume.
func testImage(t *testing.T, image string, settings ...string) {
	t.Helper()
	t.Log(filepath.Base(image))
	r := root(t.TempDir())
	config := extractImage(t, image, r)
	address := freeAddress(t)
	environ := slices.Concat(config.Env, []string{"TSUMUGI_LISTEN=" + address, "TSUMUGI_DEMO_PASSWORD=" + password},
		settings)
	command(t, "mkdir", "-p", r.path("proc"), r.path("dev")) // As container engines do.
	mounts := `mount --bind "$0" "$0"; cd "$0"; mount -o remount,ro,bind .; mount -t proc proc proc
		mount --rbind /dev dev; mount -t tmpfs tmpfs tmp`
	for volume := range config.Volumes {
		writable := t.TempDir()
		command(t, "chown", config.User, writable)
		mounts += "; mount --bind '" + writable + "' '." + volume + "'"
	}
	cmd := r.inside(t.Context(), config.User, mounts, append(config.Entrypoint, config.Cmd...)...)
	cmd.Env = environ
	s := serve(t, cmd, address)
	check := r.inside(t.Context(), config.User, mounts, config.Healthcheck.Test[1:]...)
	check.Env = environ
	if out, err := check.CombinedOutput(); err != nil {
		t.Errorf("the health check of a running server: %v: %s", err, out)
	}
	s.ask(t)
	s.readPDF(t)
	s.stop(t)
	check = r.inside(t.Context(), config.User, mounts, config.Healthcheck.Test[1:]...)
	check.Env = environ
	if err := check.Run(); err == nil {
		t.Error("the health check of a stopped server succeeds")
	}
}

// startPostgres starts the PostgreSQL of a Debian system until the test ends, and returns the URL of a database.
func startPostgres(t *testing.T, d root) string {
	t.Helper()
	_, port, err := net.SplitHostPort(freeAddress(t))
	must.Succeed(t, err)
	programs := strings.TrimSpace(command(t, "sh", "-c", `cd "$0" && ls -d usr/lib/postgresql/*/bin`, string(d)))
	script := `
		/` + programs + `/initdb -D /tmp/database -U tsumugi -E UTF8 --locale=C.UTF-8 --auth=trust --no-sync
		exec /` + programs + `/postgres -D /tmp/database -k /tmp -c port=` + port
	cmd := d.inside(t.Context(), "postgres:postgres", debianMounts, "sh", "-ec", script)
	url := "postgres://tsumugi@127.0.0.1:" + port + "/postgres"
	background(t, cmd, func() bool {
		return d.inside(t.Context(), "0:0", "", "/"+programs+"/pg_isready", "-q", "-d", url).Run() == nil
	})
	return url
}

// imageConfig is the part of an OCI image configuration that a container engine obeys.
type imageConfig struct {
	User, WorkingDir     string
	Env, Entrypoint, Cmd []string
	Volumes              map[string]struct{}
	Healthcheck          struct{ Test []string }
}

// extractImage extracts the layers of an image in an archive to a folder, and returns its configuration.
func extractImage(t *testing.T, archive string, to root) imageConfig {
	t.Helper()
	layout := t.TempDir()
	command(t, "tar", "--extract", "--file", archive, "--directory", layout)
	type descriptor struct{ Digest string }
	var index struct{ Manifests []descriptor }
	content, err := os.ReadFile(filepath.Join(layout, "index.json"))
	if err == nil {
		err = json.Unmarshal(content, &index)
	}
	if err != nil || len(index.Manifests) != 1 {
		t.Fatalf("%d images: %v", len(index.Manifests), err)
	}
	blob := func(d descriptor) string {
		name := filepath.Join(layout, "blobs", "sha256", strings.TrimPrefix(d.Digest, "sha256:"))
		content, err := os.ReadFile(name)
		if sum := sha256.Sum256(content); err != nil || "sha256:"+hex.EncodeToString(sum[:]) != d.Digest {
			t.Fatalf("the blob %s does not have its digest: %v", d.Digest, err)
		}
		return name
	}
	read := func(d descriptor, v any) {
		content, err := os.ReadFile(blob(d))
		if err == nil {
			err = json.Unmarshal(content, v)
		}
		must.Succeed(t, err)
	}
	var manifest struct {
		Config descriptor
		Layers []descriptor
	}
	read(index.Manifests[0], &manifest)
	var image struct{ Config imageConfig }
	read(manifest.Config, &image)
	// Docker reads another manifest, of the same blobs.
	var docker []struct {
		Config           string
		RepoTags, Layers []string
	}
	content, err = os.ReadFile(filepath.Join(layout, "manifest.json"))
	if err == nil {
		err = json.Unmarshal(content, &docker)
	}
	if err != nil || len(docker) != 1 || filepath.Join(layout, docker[0].Config) != blob(manifest.Config) ||
		len(docker[0].Layers) != len(manifest.Layers) || len(docker[0].RepoTags) != 1 {
		t.Fatalf("the manifest for Docker: %v: %s", err, content)
	}
	for i, layer := range manifest.Layers {
		if filepath.Join(layout, docker[0].Layers[i]) != blob(layer) {
			t.Errorf("layer %d for Docker is %s", i, docker[0].Layers[i])
		}
	}
	for _, layer := range manifest.Layers {
		command(t, "tar", "--extract", "--gzip", "--same-owner", "--numeric-owner", "--same-permissions",
			"--file", blob(layer), "--directory", string(to))
	}
	return image.Config
}
