package postgres

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

const (
	// locationFile is a file in a data folder that the account cannot reach. It contains the path of the folder used
	// instead, so that the data is found after the checkout has moved.
	locationFile = "LOCATION"
	// maxSocketDir keeps the socket's path, with the name that PostgreSQL adds, below the limit of 104 bytes (macOS;
	// 108 on Linux).
	maxSocketDir = 85
)

// folder is a data folder. All paths are absolute and free of symbolic links.
type folder struct {
	root    string // Config.DataDir, or its replacement.
	cluster string // The PostgreSQL data directory.
}

// openFolder creates the data folder, accessible to the account only. As root it uses cfg.FallbackDir, and logs that,
// if the account cannot reach the configured folder.
func openFolder(cfg Config, acct account, log *slog.Logger) (folder, error) {
	root := cfg.DataDir
	//nolint:gosec // The account must get through; claim closes the last one.
	if err := os.MkdirAll(root, 0o755); err != nil {
		return folder{}, fmt.Errorf("the data folder %s cannot be made: %w", root, err)
	}
	root, err := filepath.EvalSymlinks(root)
	if err != nil {
		return folder{}, fmt.Errorf("the data folder %s: %w", cfg.DataDir, err)
	}
	if !acct.mayEnter(filepath.Dir(root)) {
		if root, err = standIn(cfg, root, acct, log); err != nil {
			return folder{}, err
		}
	}
	if err := claim(root, acct); err != nil {
		return folder{}, err
	}
	f := folder{root: root, cluster: filepath.Join(root, "cluster")}
	return f, f.claimCluster(acct)
}

// standIn returns the replacement of root, which the account cannot reach.
func standIn(cfg Config, root string, acct account, log *slog.Logger) (string, error) {
	note := filepath.Join(root, locationFile)
	var other string
	switch text, err := os.ReadFile(note); {
	case err == nil:
		other = strings.TrimSpace(string(text))
		if !filepath.IsAbs(other) {
			return "", fmt.Errorf("%s must name a folder by its full path, but reads %q", note, other)
		}
	case errors.Is(err, fs.ErrNotExist):
		sum := sha256.Sum256([]byte(root))
		other = filepath.Join(cfg.FallbackDir, "data-"+hex.EncodeToString(sum[:6]))
	default:
		return "", fmt.Errorf("the data folder %s: %w", root, err)
	}
	if err := os.MkdirAll(other, 0o755); err != nil { //nolint:gosec // As in openFolder.
		return "", fmt.Errorf("the database runs as %s, who cannot reach %s, and %s cannot be made in its place: %w",
			acct.name, root, other, err)
	}
	other, err := filepath.EvalSymlinks(other)
	if err != nil {
		return "", err
	}
	if !acct.mayEnter(filepath.Dir(other)) {
		return "", fmt.Errorf("the database runs as %s, who can reach neither %s nor %s; choose a data folder "+
			"that this account can reach", acct.name, root, other)
	}
	//nolint:gosec // A note for people, not a secret.
	if err := os.WriteFile(note, []byte(other+"\n"), 0o644); err != nil {
		return "", fmt.Errorf("the data folder %s: %w", root, err)
	}
	log.Warn("the database uses a fallback data folder, because its account cannot reach the configured one",
		"account", acct.name, "data_folder", root, "used_instead", other)
	return other, nil
}

// claim makes a folder accessible to the account only.
func claim(dir string, acct account) error {
	if err := acct.give(dir); err != nil {
		return fmt.Errorf("the data folder %s cannot be handed to %s: %w", dir, acct.name, err)
	}
	if err := os.Chmod(dir, 0o700); err != nil { //nolint:gosec // A folder, not a file.
		return ownershipError(dir, acct, err)
	}
	return nil
}

// ownershipError explains a permission error after a run as another user.
func ownershipError(dir string, acct account, err error) error {
	if !errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("the data folder %s: %w", dir, err)
	}
	return fmt.Errorf("the data folder %s belongs to another user than %s; give it to them with chown -R, or run this "+
		"program as the user it belongs to (or as root): %w", dir, acct.name, err)
}

// claimCluster makes the account the owner of a cluster that another user created, for example after a restore by root.
func (f folder) claimCluster(acct account) error {
	info, err := os.Stat(f.cluster)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return ownershipError(f.cluster, acct, err)
	}
	if uid, _ := owner(info); uid == acct.uid {
		return nil
	}
	if !acct.other {
		return ownershipError(f.cluster, acct, fs.ErrPermission)
	}
	if err := acct.giveTree(f.cluster); err != nil {
		return fmt.Errorf("the data folder %s cannot be handed to %s: %w", f.cluster, acct.name, err)
	}
	return nil
}

// major returns the PostgreSQL version of the cluster, or 0 if the cluster does not exist.
func (f folder) major() (int, error) {
	path := filepath.Join(f.cluster, "PG_VERSION")
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Stat(f.cluster); err == nil {
			return 0, fmt.Errorf("%s exists but is no PostgreSQL data directory (PG_VERSION is missing); restore "+
				"it from a backup, or move it away to begin with an empty database", f.cluster)
		}
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("the data folder: %w", err)
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return 0, fmt.Errorf("%s does not hold a PostgreSQL version: %q", path, text)
	}
	return n, nil
}

// socketDir creates the private folder for the server's socket: run/ in the data folder, or a folder with a short name
// in the temporary folder if the path would not fit into a socket address.
func (f folder) socketDir(acct account) (string, error) {
	dir := filepath.Join(f.root, "run")
	foreign := len(dir) > maxSocketDir
	if foreign {
		sum := sha256.Sum256([]byte(f.root))
		dir = filepath.Join("/tmp", "tsumugi-"+hex.EncodeToString(sum[:6]))
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", fmt.Errorf("the folder for the database socket: %w", err)
	}
	// Another user may have created a folder with this name in /tmp, which must not be used.
	info, err := os.Lstat(dir)
	if err != nil {
		return "", fmt.Errorf("the folder for the database socket: %w", err)
	}
	if uid, _ := owner(info); !info.IsDir() || (foreign && uid != acct.uid && uid != os.Geteuid()) {
		return "", fmt.Errorf("the folder for the database socket, %s, belongs to somebody else; remove it", dir)
	}
	return dir, claim(dir, acct)
}
