package postgres

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
)

// restoreLinks creates the symbolic links that a package archive cannot contain. npm does not create them with
// --ignore-scripts. Their list is stored next to the programs. Programs that do not come from npm have no list, and
// restoreLinks does nothing.
func restoreLinks(binDir string) error {
	native := filepath.Dir(binDir)
	text, err := os.ReadFile(filepath.Join(native, "pg-symlinks.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var links []struct{ Source, Target string }
	if err := json.Unmarshal(text, &links); err != nil {
		return fmt.Errorf("pg-symlinks.json: %w", err)
	}
	root := filepath.Dir(native)
	for _, l := range links {
		if !insideNative(l.Source) || !insideNative(l.Target) {
			return fmt.Errorf("pg-symlinks.json names a file outside the package: %s -> %s", l.Target, l.Source)
		}
		target := filepath.Join(root, l.Target)
		source, err := filepath.Rel(filepath.Dir(target), filepath.Join(root, l.Source))
		if err != nil {
			return err
		}
		if err := os.Symlink(source, target); err != nil && !errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("a link of the npm package is missing and cannot be made: %w", err)
		}
	}
	return nil
}

func insideNative(path string) bool {
	return filepath.IsLocal(path) && strings.HasPrefix(filepath.Clean(path), "native"+string(filepath.Separator))
}

// copyPackage copies the npm package that contains binDir to a folder that the account can reach, unless a copy exists,
// and returns the new folder of programs. Programs of other installations are spread over the system and cannot be
// copied.
func copyPackage(binDir, fallback string, acct account, log *slog.Logger) (string, error) {
	native := filepath.Dir(binDir)
	if _, err := os.Stat(filepath.Join(native, "pg-symlinks.json")); err != nil {
		return "", fmt.Errorf("%s cannot reach it", acct.name)
	}
	version, err := packageVersion(filepath.Join(filepath.Dir(native), "package.json"))
	if err != nil {
		return "", err
	}
	target := filepath.Join(fallback, "postgresql-"+version)
	if _, err := os.Stat(target); err == nil {
		return reachable(filepath.Join(target, "bin"), acct)
	}
	if err := os.MkdirAll(fallback, 0o755); err != nil { //nolint:gosec // Programs for everybody to run.
		return "", fmt.Errorf("%s cannot reach it, and it cannot be copied: %w", acct.name, err)
	}
	temp, err := os.MkdirTemp(fallback, "postgresql-*.part")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(temp) }() // Does nothing after success.
	if err := os.CopyFS(temp, os.DirFS(native)); err != nil {
		return "", fmt.Errorf("%s cannot reach it, and copying failed: %w", acct.name, err)
	}
	if err := os.Chmod(temp, 0o755); err != nil { //nolint:gosec // Programs for everybody to run.
		return "", err
	}
	// If another process renames first, its copy is used. All copies are identical.
	if err := os.Rename(temp, target); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", err
	}
	log.Info("the database's programs were copied to a folder that its account can reach", "account", acct.name,
		"from", native, "to", target)
	return reachable(filepath.Join(target, "bin"), acct)
}

func reachable(dir string, acct account) (string, error) {
	if !acct.mayEnter(dir) {
		return "", fmt.Errorf("%s cannot reach its copy in %s either", acct.name, dir)
	}
	return dir, nil
}

// packageVersion reads the version and platform of an npm package, for use in a file name.
func packageVersion(path string) (string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	var pkg struct{ Name, Version string }
	if err := json.Unmarshal(text, &pkg); err != nil {
		return "", fmt.Errorf("package.json: %w", err)
	}
	name := pkg.Version + "-" + filepath.Base(pkg.Name)
	if pkg.Version == "" || !filepath.IsLocal(name) || strings.ContainsRune(name, filepath.Separator) {
		return "", fmt.Errorf("package.json holds no usable version: %q", pkg.Version)
	}
	return name, nil
}
