package crx_test

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/tsumugi-ai/tsumugi/internal/crx"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// memory stores a release in memory.
type memory struct {
	release crx.Release
	digest  [32]byte
}

func (m *memory) load(_ context.Context, digest [32]byte, create func() (string, error),
) (_ crx.Release, err error) {
	if m.release.PrivateKey == "" {
		if m.release.PrivateKey, err = create(); err != nil {
			return crx.Release{}, err
		}
	}
	if m.digest != digest {
		m.digest = digest
		m.release.Build++
	}
	return m.release, nil
}

func files(worker string) fstest.MapFS {
	return fstest.MapFS{
		"manifest.json": {
			Data: []byte(`{"manifest_version": 3, "name": "Tsumugi", "version": "1.2.3", "key": "x"}`),
		},
		"worker.js":                 {Data: []byte(worker)},
		"_locales/ja/messages.json": {Data: []byte(`{}`)},
		".gitkeep":                  {},
	}
}

// packed is a package with its files.
type packed struct {
	*crx.Package
	crx.Files
}

func newPackage(t *testing.T, store crx.ReleaseStore, worker string) packed {
	t.Helper()
	p, err := crx.New(t.Context(), store, files(worker), "https://tsumugi.example/")
	must.Succeed(t, err)
	files := must.Get(p.Files())(t)
	return packed{p, files}
}

// open returns the files in an archive.
func open(t *testing.T, archive []byte) map[string]string {
	t.Helper()
	r := must.Get(zip.NewReader(bytes.NewReader(archive), int64(len(archive))))(t)
	contents := make(map[string]string)
	for _, f := range r.File {
		in := must.Get(f.Open())(t)
		data := must.Get(io.ReadAll(in))(t)
		contents[f.Name] = string(data)
	}
	return contents
}

func TestPackage(t *testing.T) {
	t.Parallel()
	p := newPackage(t, new(memory).load, "worker")
	contents := open(t, p.ZIP)
	if len(contents) != 4 || contents["worker.js"] != "worker" ||
		contents["server.json"] != `{"server_url":"https://tsumugi.example"}` {
		t.Errorf("archive: %v", contents)
	}
	var manifest struct {
		Name      string
		Version   string
		Key       []byte
		UpdateURL string `json:"update_url"`
	}
	must.Succeed(t, json.Unmarshal([]byte(contents["manifest.json"]), &manifest))
	if manifest.Name != "Tsumugi" || manifest.Version != "1.2.3.1" || manifest.Version != p.Version ||
		manifest.UpdateURL != "https://tsumugi.example/extension/updates.xml" {
		t.Errorf("manifest: %+v", manifest)
	}
	if id := idOf(manifest.Key); id != p.ID || p.Origin() != "chrome-extension://"+id {
		t.Errorf("the manifest's key is that of %s, and the id %s", id, p.ID)
	}
	var update struct {
		App struct {
			ID    string `xml:"appid,attr"`
			Check struct {
				Codebase string `xml:"codebase,attr"`
				Version  string `xml:"version,attr"`
			} `xml:"updatecheck"`
		} `xml:"http://www.google.com/update2/response app"`
	}
	must.Succeed(t, xml.Unmarshal(p.Updates, &update))
	if update.App.ID != p.ID || update.App.Check.Version != p.Version ||
		update.App.Check.Codebase != "https://tsumugi.example/extension/tsumugi.crx" {
		t.Errorf("updates: %s", p.Updates)
	}
}

// idOf returns an extension's id: the first half of the hash of its public key, in hexadecimal with the digits a to p.
func idOf(public []byte) string {
	hash := sha256.Sum256(public)
	var id strings.Builder
	for _, b := range hash[:16] {
		id.WriteByte("abcdefghijklmnop"[b>>4])
		id.WriteByte("abcdefghijklmnop"[b&15])
	}
	return id.String()
}

// fields returns the length-delimited fields of a message.
func fields(t *testing.T, message []byte) map[protowire.Number][]byte {
	t.Helper()
	found := make(map[protowire.Number][]byte)
	for len(message) > 0 {
		number, kind, n := protowire.ConsumeTag(message)
		if n < 0 || kind != protowire.BytesType {
			t.Fatalf("tag: %d %d", n, kind)
		}
		value, m := protowire.ConsumeBytes(message[n:])
		if m < 0 {
			t.Fatal(protowire.ParseError(m))
		}
		found[number], message = value, message[n+m:]
	}
	return found
}

func TestCRXIsSigned(t *testing.T) {
	t.Parallel()
	p := newPackage(t, new(memory).load, "worker")
	if string(p.CRX[:4]) != "Cr24" || binary.LittleEndian.Uint32(p.CRX[4:]) != 3 {
		t.Fatalf("begins with % x", p.CRX[:8])
	}
	end := 12 + binary.LittleEndian.Uint32(p.CRX[8:])
	header, archive := fields(t, p.CRX[12:end]), p.CRX[end:]
	if !bytes.Equal(archive, p.ZIP) {
		t.Error("the archive is another one")
	}
	proof, signed := fields(t, header[2]), header[10000]
	if idOf(proof[1]) != p.ID {
		t.Errorf("the key is that of %s", idOf(proof[1]))
	}
	public := must.Get(x509.ParsePKIXPublicKey(proof[1]))(t)
	hash := sha256.New()
	hash.Write([]byte("CRX3 SignedData\x00"))
	hash.Write(binary.LittleEndian.AppendUint32(nil, uint32(len(signed)))) //nolint:gosec // Small.
	hash.Write(signed)
	hash.Write(archive)
	if err := rsa.VerifyPKCS1v15(public.(*rsa.PublicKey), crypto.SHA256, hash.Sum(nil), proof[2]); err != nil {
		t.Error(err)
	}
	want := sha256.Sum256(proof[1])
	if id := fields(t, signed)[1]; !bytes.Equal(id, want[:16]) {
		t.Errorf("signed for the id %x", id)
	}
}

func TestChangedFilesIncreaseTheVersion(t *testing.T) {
	t.Parallel()
	store := new(memory).load
	first, again, other := newPackage(t, store, "one"), newPackage(t, store, "one"), newPackage(t, store, "two")
	if !bytes.Equal(first.ZIP, again.ZIP) || first.Version != again.Version {
		t.Error("the same files made another archive")
	}
	if other.Version != "1.2.3.2" || other.ID != first.ID {
		t.Errorf("other files are %s of %s, the first are of %s", other.Version, other.ID, first.ID)
	}
	if stranger := newPackage(t, new(memory).load, "one"); stranger.ID == first.ID {
		t.Error("two installations share an id")
	}
}

func TestInvalidExtensionFiles(t *testing.T) {
	t.Parallel()
	_, err := crx.New(t.Context(), new(memory).load, fstest.MapFS{".gitkeep": {}}, "https://tsumugi.example")
	if !errors.Is(err, crx.ErrNotBuilt) {
		t.Errorf("no files: %v", err)
	}
	for _, manifest := range []string{"", "[]", `{"version": "1.2"}`, `{"version": 1}`} {
		broken := files("worker")
		broken["manifest.json"] = &fstest.MapFile{Data: []byte(manifest)}
		if _, err := crx.New(t.Context(), new(memory).load, broken, "https://tsumugi.example"); err == nil {
			t.Errorf("manifest %s was packed", base64.StdEncoding.EncodeToString([]byte(manifest)))
		}
	}
}

// independentCRX is a script that uses crx3 from npm to write a CRX file from an archive and a key. It prints the id.
const independentCRX = `
const [archive, keyPath, crxPath] = process.argv.slice(1)
const file = require('crx3/lib/crx3stream')(crxPath, { keyPath })
require('fs').createReadStream(archive).pipe(file).on('finish', () => console.log(file.crx.encodedAppId))
`

// TestAnotherLibraryWritesTheSameCRX compares with an independent library. The signature (PKCS #1 v1.5) has no random
// part, so that the same archive and key must result in the same header, signature and id.
func TestAnotherLibraryWritesTheSameCRX(t *testing.T) {
	t.Parallel()
	node, err := exec.LookPath("node")
	if _, absent := os.Stat("../../node_modules/crx3"); err != nil || absent != nil {
		t.Skip("the npm packages are not installed")
	}
	store := new(memory)
	p := newPackage(t, store.load, "worker")
	folder := t.TempDir()
	paths := []string{
		filepath.Join(folder, "a.zip"), filepath.Join(folder, "key.pem"), filepath.Join(folder, "a.crx"),
	}
	for i, content := range []string{string(p.ZIP), store.release.PrivateKey} {
		must.Succeed(t, os.WriteFile(paths[i], []byte(content), 0o600))
	}
	cmd := exec.CommandContext(t.Context(), node, append([]string{"-e", independentCRX}, paths...)...)
	cmd.Dir = "../.."
	id, err := cmd.CombinedOutput()
	if err != nil || strings.TrimSpace(string(id)) != p.ID {
		t.Errorf("the id is %s, and not %s: %v", id, p.ID, err)
	}
	written, err := os.ReadFile(paths[2])
	if err != nil || !bytes.Equal(written, p.CRX) {
		t.Errorf("the files differ: %d and %d bytes, %v", len(written), len(p.CRX), err)
	}
}
