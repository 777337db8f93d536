package release_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	tsumugi "github.com/tsumugi-ai/tsumugi/clients/go"
	"github.com/tsumugi-ai/tsumugi/internal/datasource/extract/pdf/pdftest"
	"github.com/tsumugi-ai/tsumugi/test/cluster"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

const password = "Tsumugi-Demo-1"

func TestMain(m *testing.M) {
	code := m.Run()
	if err := os.RemoveAll(base.dir); err != nil {
		fmt.Println("release:", err)
		code = max(code, 1)
	}
	os.Exit(code)
}

// base is a Debian system with Caddy and PostgreSQL, and with rpm if the release has an RPM package. All tests copy it.
var base struct {
	sync.Once

	dir string
	err error
}

// dist returns the files in the folder of scripts/dist that match a pattern.
func dist(t *testing.T, pattern string) []string {
	t.Helper()
	dir := os.Getenv("TSUMUGI_TEST_DIST")
	if dir == "" || os.Geteuid() != 0 {
		t.Skip("needs root, and the folder of scripts/dist in TSUMUGI_TEST_DIST")
	}
	if !mayMount() {
		t.Skip("needs a mount namespace, which is not allowed here")
	}
	found := must.Get(filepath.Glob(filepath.Join(dir, pattern)))(t)
	return found
}

// unshare are the arguments of unshare(1) for new mount and process namespaces. In a chroot, their propagation cannot be
// changed.
var unshare = []string{"--mount", "--pid", "--fork", "--propagation", "private"}

// mayMount reports whether unshare works, after it has adapted unshare to this machine.
var mayMount = sync.OnceValue(func() bool {
	works := func() bool {
		return exec.Command("unshare", append(unshare, "true")...).Run() == nil //nolint:gosec // Constants.
	}
	if !works() {
		unshare[len(unshare)-1] = "unchanged"
	}
	return works()
})

// root is the folder of a root file system.
type root string

// newDebian returns a Debian system with Caddy and PostgreSQL's programs.
func newDebian(t *testing.T) root {
	t.Helper()
	include := "--include=ca-certificates,caddy,fonts-ipafont-gothic,postgresql"
	if len(dist(t, "*.rpm")) > 0 {
		include += ",rpm"
	}
	base.Do(func() {
		if base.dir, base.err = os.MkdirTemp("", "tsumugi-release-*"); base.err != nil {
			return
		}
		//nolint:gosec // A script of the repository.
		cmd := exec.Command("../../scripts/bootstrap", filepath.Join(base.dir, "debian"), include)
		var log bytes.Buffer
		cmd.Stdout, cmd.Stderr = &log, &log
		if err := cmd.Run(); err != nil {
			base.err = fmt.Errorf("bootstrap: %w: %s", err, log.String())
		}
	})
	if base.err != nil {
		t.Fatal(base.err)
	}
	dir := filepath.Join(t.TempDir(), "debian")
	command(t, "cp", "-a", filepath.Join(base.dir, "debian"), dir)
	return root(dir)
}

func (r root) path(name string) string { return filepath.Join(string(r), name) }

func (r root) read(t *testing.T, name string) string {
	t.Helper()
	text := must.Get(os.ReadFile(r.path(name)))(t)
	return string(text)
}

func (r root) exists(name string) bool {
	_, err := os.Lstat(r.path(name))
	return err == nil
}

// command runs a program on this machine and returns its output.
func command(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %q: %v: %s", name, args, err, out)
	}
	return string(out)
}

// inside returns a command in the root file system, with its own mounts and processes, which end with it. mounts is a
// shell script that runs before, with the folder as $0.
func (r root) inside(ctx context.Context, account, mounts string, args ...string) *exec.Cmd {
	script := mounts + `
		root=$0
		exec /usr/sbin/chroot --userspec="$1" "$root" "${@:2}"`
	//nolint:gosec // The arguments are the test's.
	cmd := exec.CommandContext(ctx, "unshare", slices.Concat(unshare,
		[]string{"bash", "-euc", script, string(r), account}, args)...)
	// The first process changes its account, which clears the signal that it would get at the end of unshare.
	cmd.Cancel = func() error { return signalFirst(cmd, syscall.SIGKILL) }
	cmd.Env = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LANG=C.UTF-8", "DEBIAN_FRONTEND=noninteractive"}
	return cmd
}

const debianMounts = `mount -t proc proc "$0/proc"; mount --rbind /dev "$0/dev"`

// run runs a program as root in a Debian system.
func (r root) run(t *testing.T, args ...string) string {
	t.Helper()
	out, err := r.inside(t.Context(), "0:0", debianMounts, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%q: %v: %s", args, err, out)
	}
	return string(out)
}

// background starts a command of inside, which runs until the test ends, and returns when it is ready.
func background(t *testing.T, cmd *exec.Cmd, ready func() bool) {
	t.Helper()
	var log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &log, &log
	must.Succeed(t, cmd.Start())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = cmd.Wait()
	}()
	t.Cleanup(func() { <-ended }) // The test's context, and with it the command, ends before.
	for !ready() {
		select {
		case <-ended:
			t.Fatalf("%q ended: %s", cmd.Args, log.String())
		default:
		}
	}
}

// server is a running server in a root file system.
type server struct {
	cmd     *exec.Cmd
	address string
	log     *bytes.Buffer // Not to be read before the end of cmd.
}

// serve starts a command of inside and returns when it is ready.
func serve(t *testing.T, cmd *exec.Cmd, address string) *server {
	t.Helper()
	s := &server{cmd: cmd, address: address, log: new(bytes.Buffer)}
	cmd.Stderr = s.log
	out, err := cmd.StdoutPipe()
	must.Succeed(t, err)
	must.Succeed(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Wait() }) // The test's context, and with it the command, ends before.
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if strings.Contains(lines.Text(), "Ctrl-C") {
			go func() { _, _ = io.Copy(io.Discard, out) }()
			return s
		}
	}
	err = cmd.Wait()
	t.Fatalf("the server ended: %v: %s", err, s.log)
	return nil
}

// signalFirst sends a signal to the first process of a command of inside. Without it, all others end too.
func signalFirst(cmd *exec.Cmd, signal syscall.Signal) error {
	pid := cmd.Process.Pid
	children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	if err != nil {
		return err
	}
	var first int
	if _, err := fmt.Sscan(string(children), &first); err != nil {
		return fmt.Errorf("the processes below %d: %q: %w", pid, children, err)
	}
	return syscall.Kill(first, signal)
}

// stop stops the server as systemd and container engines do.
func (s *server) stop(t *testing.T) {
	t.Helper()
	if err := errors.Join(signalFirst(s.cmd, syscall.SIGTERM), s.cmd.Wait()); err != nil {
		t.Fatalf("the server did not stop: %v: %s", err, s.log)
	}
}

// ask asks a question and returns the thread with the answer.
func (s *server) ask(t *testing.T) tsumugi.Thread {
	t.Helper()
	answer := ask(t, s.client(), "こんにちは")
	for _, err := range answer.Events(t.Context()) {
		must.Succeed(t, err)
	}
	thread := tsumugi.Thread{ID: answer.ThreadID}
	s.hasAnswer(t, thread)
	return thread
}

// hasAnswer checks that the thread has the question and its complete answer.
func (s *server) hasAnswer(t *testing.T, thread tsumugi.Thread) {
	t.Helper()
	messages := must.Get(s.client().Messages(t.Context(), thread.ID))(t)
	if len(messages) != 2 || messages[0].Content == "" || messages[0].Status != "success" {
		t.Fatalf("the thread has %+v", messages)
	}
}

// readPDF checks that the server reads the text of a PDF file, in its sandbox.
func (s *server) readPDF(t *testing.T) {
	t.Helper()
	page := new(pdftest.Page)
	page.Latin(50, 50, 20, "Annual leave is ten days.")
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	file, err := form.CreateFormFile("file", "rules.pdf")
	if err == nil {
		_, err = file.Write(pdftest.Draw([]*pdftest.Page{page}))
	}
	if err = errors.Join(err, form.Close()); err != nil {
		t.Fatal(err)
	}
	token := must.Get(s.client().Token(t.Context(), false))(t)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost,
		"http://"+s.address+"/external/chrome_extension/v1/page/file", &body)
	must.Succeed(t, err)
	request.Header.Set("Authorization", "Bearer "+token)
	request.Header.Set("Content-Type", form.FormDataContentType())
	response := must.Get(http.DefaultClient.Do(request))(t)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK || !strings.Contains(string(text), "Annual leave is ten days.") {
		t.Errorf("the PDF file: %s, %v: %s", response.Status, err, text)
	}
}

func (s *server) client() *tsumugi.Client {
	url := "http://" + s.address
	return &tsumugi.Client{URL: url, Token: tsumugi.Password(url, "admin@demo.example", password, http.DefaultClient)}
}

func freeAddress(t *testing.T) string {
	t.Helper()
	address := must.Get(cluster.FreeAddress(t.Context(), "127.0.0.1"))(t)
	return address
}
