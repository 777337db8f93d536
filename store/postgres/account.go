package postgres

import (
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
)

// account is the operating system user that the server runs as.
type account struct {
	name     string
	uid, gid int
	groups   []int
	other    bool // It differs from the user of this process, which is root.
}

// chooseAccount returns the user of this process or, for root, the one that cfg or the owner of the folder determines:
// PostgreSQL refuses to run as root.
func chooseAccount(cfg Config) (account, error) {
	if os.Geteuid() != 0 {
		self, err := user.Current()
		if err != nil {
			return account{}, fmt.Errorf("the user with number %d has no entry in /etc/passwd, which PostgreSQL "+
				"needs: %w",
				os.Geteuid(), err)
		}
		return account{name: self.Username, uid: os.Geteuid(), gid: os.Getegid()}, nil
	}
	if cfg.RunAs != "" {
		u, err := user.Lookup(cfg.RunAs)
		if err != nil {
			return account{}, fmt.Errorf("the account %q for the database does not exist: %w", cfg.RunAs, err)
		}
		return newAccount(u)
	}
	if u := clusterOwner(cfg.DataDir); u != nil {
		return newAccount(u)
	}
	for _, name := range []string{"postgres", "nobody"} {
		if u, err := user.Lookup(name); err == nil {
			return newAccount(u)
		}
	}
	return account{}, fmt.Errorf("PostgreSQL refuses to run as root, and there is neither an account postgres nor " +
		"nobody to run it as; create one, or start this program as an ordinary user")
}

func newAccount(u *user.User) (account, error) {
	uid, err := strconv.Atoi(u.Uid)
	if err != nil {
		return account{}, fmt.Errorf("account %s: %w", u.Username, err)
	}
	gid, err := strconv.Atoi(u.Gid)
	if err != nil {
		return account{}, fmt.Errorf("account %s: %w", u.Username, err)
	}
	if uid == 0 {
		return account{}, fmt.Errorf("the database cannot run as %s: PostgreSQL refuses to run as root", u.Username)
	}
	a := account{name: u.Username, uid: uid, gid: gid, other: true}
	ids, err := u.GroupIds()
	if err != nil {
		ids = nil // The server only needs the primary group.
	}
	for _, id := range ids {
		if n, err := strconv.Atoi(id); err == nil {
			a.groups = append(a.groups, n)
		}
	}
	return a, nil
}

// clusterOwner returns the ordinary user who owns an existing cluster, or nil. If the server runs as that user, the
// folder stays usable for them without root.
func clusterOwner(dataDir string) *user.User {
	info, err := os.Stat(filepath.Join(dataDir, "cluster", "PG_VERSION"))
	if err != nil {
		return nil
	}
	uid, _ := owner(info)
	if uid == 0 {
		return nil
	}
	u, err := user.LookupId(strconv.Itoa(uid))
	if err != nil {
		return nil
	}
	return u
}

// credential returns the credentials of a child process that runs as the account, or nil if they are those of this
// process.
func (a account) credential() *syscall.Credential {
	if !a.other {
		return nil
	}
	c := &syscall.Credential{Uid: uint32(a.uid), Gid: uint32(a.gid)} //nolint:gosec // Ids from the user database.
	for _, g := range a.groups {
		c.Groups = append(c.Groups, uint32(g)) //nolint:gosec // As above.
	}
	return c
}

// give makes the account the owner of path if this process is root.
func (a account) give(path string) error {
	if !a.other {
		return nil
	}
	return os.Lchown(path, a.uid, a.gid)
}

// giveTree makes the account the owner of everything below path.
func (a account) giveTree(path string) error {
	if !a.other {
		return nil
	}
	return filepath.WalkDir(path, func(p string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return a.give(p)
	})
}

// mayEnter reports whether the account may pass through the existing folder dir and every folder above it. It checks
// the permission bits only and ignores access that an ACL grants.
func (a account) mayEnter(dir string) bool {
	if !a.other {
		return true
	}
	for {
		info, err := os.Stat(dir) //nolint:gosec // Reads permissions only.
		if err != nil || !info.IsDir() || !a.holds(info, 0o1) {
			return false
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return true
		}
		dir = parent
	}
}

// holds reports whether the permission bits of info grant the account the access in bits (1 execute, 2 write, 4 read).
func (a account) holds(info fs.FileInfo, bits fs.FileMode) bool {
	uid, gid := owner(info)
	switch mode := info.Mode().Perm(); {
	case uid == a.uid:
		return mode>>6&bits == bits
	case gid == a.gid || slices.Contains(a.groups, gid):
		return mode>>3&bits == bits
	default:
		return mode&bits == bits
	}
}

// owner returns the user and group that a file belongs to.
func owner(info fs.FileInfo) (uid, gid int) {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(st.Uid), int(st.Gid)
	}
	return -1, -1
}
