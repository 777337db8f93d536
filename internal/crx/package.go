// Package crx packages the Chrome extension for an installation: as a signed CRX file, which browsers install by policy
// and update automatically, and as a ZIP archive for manual installation.
//
// The server signs with a key that it creates at its first start. The id of the extension therefore never changes and
// is unique to the installation. The package declares the Store that it requires.
package crx

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// ErrNotBuilt means that the server was built without the extension.
var ErrNotBuilt = errors.New("crx: the extension is not built")

// Paths on the server.
const (
	UpdatesPath = "/extension/updates.xml"
	CRXPath     = "/extension/tsumugi.crx"
	ZIPPath     = "/extension/tsumugi.zip"
)

// Release is the stored data of an installation's extension.
type Release struct {
	PrivateKey string // PKCS #8 in PEM.
	Build      int    // From 1.
}

// ReleaseStore returns the stored release for a digest. If no key is stored, it stores the result of create. It increments
// the build number if the digest differs from the stored digest.
type ReleaseStore func(ctx context.Context, digest [32]byte, create func() (string, error)) (Release, error)

// Package is the extension of this installation.
type Package struct {
	ID        string // 32 letters from a to p.
	Version   string // As in manifest.json, with the build as the last part.
	ServerURL string // The server's URL, without trailing slash.
	Updates   []byte // Update manifest: see developer.chrome.com/docs/extensions/how-to/distribute/host-on-linux.

	// Files returns the packed extension. The first call packs it.
	Files func() (Files, error)
}

// Files contains the packed extension in both forms.
type Files struct {
	CRX []byte // Signed.
	ZIP []byte
}

// Origin returns the origin of the extension's requests.
func (p *Package) Origin() string { return "chrome-extension://" + p.ID }

// keyBits is the length of the signing key. Chromium uses the same length.
const keyBits = 2048

// New prepares the built extension, whose manifest.json is at the root of files. publicURL is the server's URL for
// people and browsers. New returns ErrNotBuilt if there are no files.
func New(ctx context.Context, store ReleaseStore, files fs.FS, publicURL string) (*Package, error) {
	contents, err := read(files)
	if err != nil {
		return nil, err
	}
	publicURL = strings.TrimSuffix(publicURL, "/")
	if contents["server.json"], err = json.Marshal(map[string]string{"server_url": publicURL}); err != nil {
		return nil, err
	}
	release, err := store(ctx, digest(contents), createKey)
	if err != nil {
		return nil, err
	}
	key, err := parseKey(release.PrivateKey)
	if err != nil {
		return nil, err
	}
	return build(key, release.Build, contents, publicURL)
}

// build prepares the package of a release.
func build(key *rsa.PrivateKey, number int, contents map[string][]byte, publicURL string) (*Package, error) {
	public, err := publicKey(key)
	if err != nil {
		return nil, err
	}
	p := &Package{ID: extensionID(public), ServerURL: publicURL}
	manifest, err := parseManifest(contents["manifest.json"])
	if err != nil {
		return nil, err
	}
	if p.Version, err = manifest.number(number); err != nil {
		return nil, err
	}
	manifest["key"] = base64.StdEncoding.EncodeToString(public) // Makes the id the same for manual installation.
	manifest["update_url"] = publicURL + UpdatesPath
	if contents["manifest.json"], err = json.MarshalIndent(manifest, "", "  "); err != nil {
		return nil, err
	}
	p.Files = sync.OnceValues(func() (f Files, err error) {
		if f.ZIP, err = archive(contents); err == nil {
			f.CRX, err = pack(key, f.ZIP)
		}
		return f, err
	})
	p.Updates, err = updates(p.ID, p.Version, publicURL+CRXPath)
	return p, err
}

// read returns the contents of all files by name.
func read(files fs.FS) (map[string][]byte, error) {
	contents := make(map[string][]byte)
	err := fs.WalkDir(files, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || strings.HasPrefix(entry.Name(), ".") {
			return err
		}
		contents[name], err = fs.ReadFile(files, name)
		return err
	})
	if err == nil && contents["manifest.json"] == nil {
		err = ErrNotBuilt
	}
	return contents, err
}

// digest returns a hash of the names and contents of files.
func digest(contents map[string][]byte) [32]byte {
	hash := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(contents)) {
		_, _ = fmt.Fprintf(hash, "%d %s %d ", len(name), name, len(contents[name])) // Writing to a hash cannot fail.
		hash.Write(contents[name])
	}
	return [32]byte(hash.Sum(nil))
}

// manifest is a manifest.json.
type manifest map[string]any

func parseManifest(data []byte) (manifest, error) {
	var m manifest
	if err := json.Unmarshal(data, &m); err != nil {
		return nil, fmt.Errorf("crx: manifest.json: %w", err)
	}
	return m, nil
}

// number sets the version of a build and returns it. Browsers update only to a higher version.
func (m manifest) number(build int) (string, error) {
	version, _ := m["version"].(string)
	if strings.Count(version, ".") != 2 {
		return "", fmt.Errorf("crx: manifest.json: version %q does not have three parts", version)
	}
	version = fmt.Sprintf("%s.%d", version, build)
	m["version"] = version
	return version, nil
}

// archive returns a ZIP archive. Equal files result in an identical archive.
func archive(contents map[string][]byte) ([]byte, error) {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	w.RegisterCompressor(zip.Deflate, func(out io.Writer) (io.WriteCloser, error) {
		return flate.NewWriter(out, flate.BestCompression)
	})
	for _, name := range slices.Sorted(maps.Keys(contents)) {
		file, err := w.CreateHeader(&zip.FileHeader{
			Name: name, Method: zip.Deflate, Modified: time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC),
		})
		if err != nil {
			return nil, err
		}
		if _, err := file.Write(contents[name]); err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return b.Bytes(), err
}

// updates returns the update manifest for browsers.
func updates(id, version, codebase string) ([]byte, error) {
	type check struct {
		Codebase string `xml:"codebase,attr"`
		Version  string `xml:"version,attr"`
	}
	type app struct {
		ID    string `xml:"appid,attr"`
		Check check  `xml:"updatecheck"`
	}
	data, err := xml.MarshalIndent(struct {
		XMLName  xml.Name `xml:"http://www.google.com/update2/response gupdate"`
		Protocol string   `xml:"protocol,attr"`
		App      app      `xml:"app"`
	}{Protocol: "2.0", App: app{id, check{codebase, version}}}, "", "  ")
	return append([]byte(xml.Header), append(data, '\n')...), err
}

// createKey returns a new key in its stored form.
func createKey() (string, error) {
	key, err := rsa.GenerateKey(rand.Reader, keyBits)
	if err != nil {
		return "", fmt.Errorf("crx: %w", err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return "", fmt.Errorf("crx: %w", err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})), nil
}

func parseKey(text string) (*rsa.PrivateKey, error) {
	block, _ := pem.Decode([]byte(text))
	if block == nil {
		return nil, errors.New("crx: the stored key is not PEM")
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("crx: %w", err)
	}
	private, ok := key.(*rsa.PrivateKey)
	if !ok {
		return nil, fmt.Errorf("crx: the stored key is a %T", key)
	}
	return private, nil
}
