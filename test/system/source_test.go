package system_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"mime/multipart"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/tsumugi-ai/tsumugi/test/must"
)

// dataSource is a data source of the API.
type dataSource struct {
	ID         string
	Filename   string
	Status     string
	Revision   int
	PageCount  int `json:"page_count"`
	ChunkCount int `json:"chunk_count"`
}

// upload uploads a file through a server.
func (c *client) upload(ctx context.Context, base, filename string, content []byte) (source dataSource, err error) {
	return source, c.send(ctx, base+"/v1/data-source/file", filename, content, &source)
}

// send sends a file as a form.
func (c *client) send(ctx context.Context, url, filename string, content []byte, into any) error {
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	part, err := form.CreateFormFile("file", filename)
	if err != nil {
		return err
	}
	if _, err := part.Write(content); err != nil {
		return err
	}
	if err := form.Close(); err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, &body)
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", form.FormDataContentType())
	req.Header.Set("Authorization", "Bearer "+c.token)
	return c.do(req, into)
}

// liveSocket is a WebSocket connection to one server. A goroutine reads it and thereby answers the server's pings.
type liveSocket struct {
	frames chan liveFrame
	err    error // The read error, set before frames is closed.
}

// liveFrame has those fields of a frame of /v1/live that the tests use.
type liveFrame struct {
	Type       string
	ID         string
	Deleted    bool
	DataSource *dataSource `json:"data_source"`
	Thread     struct{ Title string }
}

// listen opens a live socket to a server and waits until it is ready.
func (c *client) listen(ctx context.Context, t *testing.T, base string) *liveSocket {
	t.Helper()
	conn, _, err := websocket.Dial(ctx, base+"/v1/live", nil) //nolint:bodyclose // Closed by the library.
	must.Succeed(t, err)
	t.Cleanup(func() { _ = conn.CloseNow() })
	frame := must.Get(json.Marshal(map[string]string{"type": "auth", "token": c.token}))(t)
	must.Succeed(t, conn.Write(ctx, websocket.MessageText, frame))
	s := &liveSocket{frames: make(chan liveFrame, 10_000)}
	go s.read(ctx, conn)
	if first := s.next(ctx, t); first.Type != "ready" {
		t.Fatalf("the first event is %+v", first)
	}
	return s
}

func (s *liveSocket) next(ctx context.Context, t *testing.T) (frame liveFrame) {
	t.Helper()
	select {
	case frame, ok := <-s.frames:
		if !ok {
			t.Fatal("the live socket is closed: ", s.err)
		}
		return frame
	case <-ctx.Done():
		t.Fatal("no frame came: ", ctx.Err())
	}
	return frame
}

func (s *liveSocket) read(ctx context.Context, conn *websocket.Conn) {
	defer close(s.frames)
	for s.err == nil {
		var text []byte
		if _, text, s.err = conn.Read(ctx); s.err == nil {
			var frame liveFrame
			s.err = json.Unmarshal(text, &frame)
			s.frames <- frame
		}
	}
}

// allRead reports whether the event of success has arrived for each file, and all events before it. The revisions of a
// file's events are consecutive.
func allRead(uploaded map[string]string, seen map[string][]dataSource) bool {
	for id := range uploaded {
		if !slices.ContainsFunc(seen[id], func(d dataSource) bool {
			return d.Status == "success" && d.Revision <= len(seen[id])
		}) {
			return false
		}
	}
	return true
}

// TestR17_DataSourceProgressThroughAnyServer uploads files through one server. Any server may read them, and all
// servers publish each step, until another server deletes the files.
func TestR17_DataSourceProgressThroughAnyServer(t *testing.T) {
	t.Parallel()
	r := newRig(t, 3)
	ctx, cancel := context.WithTimeout(t.Context(), waitLimit)
	defer cancel()
	tabs := make([]*liveSocket, r.Len())
	for i := range tabs {
		tabs[i] = r.listen(ctx, t, r.at(i)())
	}
	const files = 10
	uploaded := make(map[string]string) // Filenames by id.
	for i := range files {
		name := string(rune('あ'+i)) + ".txt"
		source := must.Get(r.upload(ctx, r.at(i%r.Len())(), name, []byte(strings.Repeat(name, i+1))))(t)
		uploaded[source.ID] = name
	}
	for i, tab := range tabs {
		seen := make(map[string][]dataSource)
		for !allRead(uploaded, seen) {
			frame := tab.next(ctx, t)
			if frame.DataSource == nil || uploaded[frame.DataSource.ID] != frame.DataSource.Filename {
				t.Fatalf("through server %d came %+v", i, frame)
			}
			seen[frame.DataSource.ID] = append(seen[frame.DataSource.ID], *frame.DataSource)
		}
		for _, steps := range seen {
			// Events of several servers may arrive out of order. The event with the higher revision is newer.
			slices.SortFunc(steps, func(a, b dataSource) int { return a.Revision - b.Revision })
			// Reading is repeated if the server was too busy to renew its lease.
			last := steps[len(steps)-1]
			if len(steps) < 3 || steps[0].Status != "pending" || steps[1].Status != "running" ||
				last.Status != "success" || last.PageCount != 1 || last.ChunkCount == 0 {
				t.Errorf("through server %d: %+v", i, steps)
			}
		}
	}
	for id := range uploaded {
		must.Succeed(t, r.call(ctx, http.MethodDelete, r.anywhere()+"/v1/data-source/"+id, nil, nil))
	}
	for i, tab := range tabs {
		gone := make(map[string]bool)
		for range files {
			if frame := tab.next(ctx, t); frame.Type == "data_source" && frame.Deleted {
				gone[frame.ID] = true
			}
		}
		if len(gone) != files {
			t.Errorf("through server %d: %d deletions", i, len(gone))
		}
	}
}

// slowFile returns a file that takes about a second to read. Its content is different for each number.
func slowFile(number int) []byte {
	return bytes.Repeat([]byte(fmt.Sprintf("%d,名前,部署,役職,\"メモ\n改行\"\n", number)), (5<<20)/45)
}

// sources returns a person's data sources by id.
func (c *client) sources(ctx context.Context, base string) (map[string]dataSource, error) {
	var list struct{ Items []dataSource }
	err := c.call(ctx, http.MethodGet, base+"/v1/data-source?limit=100", nil, &list)
	found := make(map[string]dataSource)
	for _, s := range list.Items {
		found[s.ID] = s
	}
	return found, err
}

// TestR64_SlowFilesDoNotDelayOtherUsers: while many slow files of one user are being read, a small file of another user
// is read without delay.
func TestR64_SlowFilesDoNotDelayOtherUsers(t *testing.T) {
	t.Parallel()
	s := newSingle(t)
	ctx, cancel := context.WithTimeout(t.Context(), waitLimit)
	defer cancel()
	other := signInAs(t, s.url(), "admin@demo.example")
	const files = 6
	for i := range files {
		must.Get(s.upload(ctx, s.url(), "名簿.csv", slowFile(i)))(t)
	}
	done := func() (n int) {
		list := must.Get(s.sources(ctx, s.url()))(t)
		for _, source := range list {
			if source.Status == "success" {
				n++
			}
		}
		return n
	}
	before, began := done(), time.Now()
	small := must.Get(other.upload(ctx, s.url(), "メモ.txt", []byte("短いメモ")))(t)
	await(t, "the small file is read", waitLimit, func() bool {
		list, err := other.sources(ctx, s.url())
		return err == nil && list[small.ID].Status == "success"
	})
	took := time.Since(began)
	after := done()
	if after == files {
		t.Fatalf("all slow files were read before, and nothing was shown: %d before the small one", before)
	}
	t.Logf("the small file was read after %v; of the slow ones %d were read before it, and %d meanwhile",
		took.Round(time.Millisecond), before, after-before)
	if after-before > files/2 { // Files that are being read may be finished first.
		t.Errorf("%d slow files were read before the small one", after-before)
	}
	await(t, "the slow files are read", waitLimit, func() bool { return done() == files })
}

// TestR79_ReadingsOfAKilledServerAreTakenOver kills one of several servers that read files. All files are read in the
// end.
func TestR79_ReadingsOfAKilledServerAreTakenOver(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2)
	ctx, cancel := context.WithTimeout(t.Context(), waitLimit)
	defer cancel()
	const files = 4
	for i := range files {
		must.Get(r.upload(ctx, r.at(1)(), "名簿.csv", slowFile(i)))(t)
	}
	r.Kill(0) // It is reading two of the four files, or has just read them.
	killed := time.Now()
	await(t, "all files are read", waitLimit, func() bool {
		list, err := r.sources(ctx, r.at(1)())
		read := 0
		for _, source := range list {
			if source.Status == "success" && source.ChunkCount > 0 {
				read++
			}
		}
		return err == nil && read == files
	})
	t.Logf("all files were read %v after the kill", time.Since(killed).Round(time.Millisecond))
}

// TestR23_FullDiskOnUpload fills the disk for uploaded files. A file that does not fit is refused and leaves no data
// behind. Chat still works, and deleting a file makes space again.
func TestR23_FullDiskOnUpload(t *testing.T) {
	t.Parallel()
	disk := filepath.Join(folder(t), "files")
	must.Succeed(t, os.Mkdir(disk, 0o755))
	if !smallDisk(t, disk) {
		t.Skip("no disk can be mounted here")
	}
	s := newSingle(t, "BLOB_URL=file://"+disk)
	ctx, cancel := context.WithTimeout(t.Context(), waitLimit)
	defer cancel()
	var kept []string
	var refused error
	for range 10 {
		source, err := s.upload(ctx, s.url(), "大きな資料.txt", blank(29<<20))
		if err != nil {
			refused = err
			break
		}
		kept = append(kept, source.ID)
	}
	if p := (&problem{}); !errors.As(refused, &p) || p.Status != http.StatusInsufficientStorage ||
		p.Code != "storage_full" || !strings.Contains(p.Detail, "保存容量") {
		t.Fatalf("after %d files: %v", len(kept), refused)
	}
	await(t, "nothing is left of the file that was refused", waitLimit, func() bool {
		files, err := filepath.Glob(filepath.Join(disk, "data-source", "*"))
		return err == nil && len(files) == len(kept)
	})
	all := s.askMany(t, s.url(), 3, answer{chars: 200})
	var fs followers
	for _, a := range all {
		fs.run(ctx, t, s.watcher(a, s.url), a.want)
	}
	join(ctx, t, &fs.wait)
	s.stored(t, s.url(), all)

	await(t, "no file is being read, which would keep its space", waitLimit, func() bool {
		list, err := s.sources(ctx, s.url())
		return err == nil && !slices.ContainsFunc(kept, func(id string) bool {
			return list[id].Status == "pending" || list[id].Status == "running"
		})
	})
	must.Succeed(t, s.call(ctx, http.MethodDelete, s.url()+"/v1/data-source/"+kept[0], nil, nil))
	await(t, "the deleted file is gone", waitLimit, func() bool {
		_, err := os.Stat(filepath.Join(disk, "data-source", kept[0]))
		return errors.Is(err, os.ErrNotExist)
	})
	must.Get(s.upload(ctx, s.url(), "大きな資料.txt", blank(29<<20)))(t)
}

// blank returns a text of n bytes with a single random word, which is read quickly. The word makes each file different,
// so that the file is stored again.
func blank(n int) []byte {
	word := newID()
	return append(bytes.Repeat([]byte("\n"), n-len(word)), word...)
}
