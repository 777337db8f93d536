package release_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tsumugi-ai/tsumugi/test/must"
)

// TestSignature signs the checksums with a new key as scripts/dist does, and verifies the signature with the command of
// docs/installing.md. Neither has a network.
func TestSignature(t *testing.T) {
	t.Parallel()
	cosign := os.Getenv("TSUMUGI_TEST_COSIGN")
	if cosign == "" {
		t.Skip("needs cosign in TSUMUGI_TEST_COSIGN")
	}
	sums := dist(t, "SHA256SUMS")
	if len(sums) != 1 {
		t.Fatalf("checksums: %v", sums)
	}
	sign := must.Get(filepath.Abs("../../scripts/sign"))(t)
	dir := t.TempDir()
	offline := func(args ...string) (string, error) {
		//nolint:gosec // The arguments are the test's.
		cmd := exec.CommandContext(t.Context(), "unshare", append([]string{"--net"}, args...)...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "TSUMUGI_SIGNING_KEY="+filepath.Join(dir, "cosign.key"), "COSIGN_PASSWORD=throw-away")
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	mustRun := func(args ...string) {
		t.Helper()
		if out, err := offline(args...); err != nil {
			t.Fatalf("%q: %v: %s", args, err, out)
		}
	}
	file := filepath.Join(dir, "SHA256SUMS")
	command(t, "cp", sums[0], file)
	mustRun(cosign, "generate-key-pair")
	mustRun(sign, file)
	verify := verifyCommand(t)
	mustRun(append([]string{cosign}, verify...)...)
	must.Succeed(t, os.WriteFile(file, []byte("another file\n"), 0o600))
	out, err := offline(append([]string{cosign}, verify...)...)
	if err == nil || !strings.Contains(out, "invalid signature") {
		t.Errorf("changed checksums are verified: %v: %s", err, out)
	}
}

// verifyCommand returns the arguments of cosign that docs/installing.md shows.
func verifyCommand(t *testing.T) []string {
	t.Helper()
	page := must.Get(os.ReadFile("../../docs/installing.md"))(t)
	_, args, found := strings.Cut(string(page), "\ncosign verify-blob ")
	if !found {
		t.Fatal("docs/installing.md does not verify the signature")
	}
	args, _, _ = strings.Cut(args, "\n")
	return append([]string{"verify-blob"}, strings.Fields(args)...)
}
