package api_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/api"
	"github.com/tsumugi-ai/tsumugi/internal/datasource"
	"github.com/tsumugi-ai/tsumugi/internal/llm/llmtest"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// upload returns the call with which a browser uploads a file.
func upload(token, filename, content string) call {
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	part, err := form.CreateFormFile("file", filename)
	if err == nil {
		_, err = part.Write([]byte(content))
	}
	if err != nil || form.Close() != nil {
		panic("a buffer cannot be written to")
	}
	return call{
		method: "POST", path: "/v1/data-source/file", token: token, body: body.String(),
		header: map[string]string{"Content-Type": form.FormDataContentType()},
	}
}

// TestR17_DataSourceProgressReachesEveryTab: every tab of the owner, and no other person's, receives the progress from
// the upload to the end of the processing.
func TestR17_DataSourceProgressReachesEveryTab(t *testing.T) {
	t.Parallel()
	f := newFixtureWith(t, llmtest.Say("はい"), settings{reads: true})
	tabs := []*socketClient{f.join(f.alice.Subject), f.join(f.alice.Subject)}
	others := []*socketClient{f.join(f.bob.Subject), f.join(f.stranger.Subject)}
	want := get[api.DataSource](f, http.StatusCreated, upload(f.alice.Subject, "就業規則.md", "# 就業規則\n\n始業は9時とする。"))
	if want.Status != api.JobStatusPending || want.Revision != 1 {
		t.Errorf("uploaded %+v", want)
	}
	for _, tab := range tabs {
		var seen []api.DataSource
		for len(seen) < 3 {
			event, frame := tab.next()
			if event.DataSource == nil || event.DataSource.ID != want.ID {
				t.Fatalf("told %s", frame)
			}
			seen = append(seen, *event.DataSource)
		}
		slices.SortFunc(seen, func(a, b api.DataSource) int { return a.Revision - b.Revision })
		if seen[0].Status != api.JobStatusPending || seen[1].Status != api.JobStatusRunning ||
			seen[2].Status != api.JobStatusSuccess ||
			seen[2].Revision != 3 || seen[2].PageCount != 1 || seen[2].ChunkCount == 0 {
			t.Errorf("told %+v", seen)
		}
	}
	if resp := f.do(call{
		method: "DELETE", path: "/v1/data-source/" + want.ID.String(),
		token: f.alice.Subject,
	}); resp.status != http.StatusNoContent {
		t.Fatalf("%d %s", resp.status, resp.body)
	}
	for _, tab := range tabs {
		if event, frame := tab.next(); event.Type != "data_source" || !event.Deleted || event.ID != want.ID {
			t.Errorf("told %s", frame)
		}
	}
	for i, other := range others {
		marker := want.ID
		f.events.NotificationsRead([]uuid.UUID{f.bob.ID, f.stranger.ID}[i], []uuid.UUID{marker})
		if event, frame := other.next(); len(event.Read) != 1 {
			t.Errorf("somebody else was told %s", frame)
		}
	}
}

func TestUploadedFileIsListedAndDownloadedUnchanged(t *testing.T) {
	t.Parallel()
	f := newFixture(t, llmtest.Say("はい"))
	content := "名前,部署\n花子,営業\n"
	source := get[api.DataSource](f, http.StatusCreated, upload(f.alice.Subject, "社員名簿 2026.csv", content))
	sum := sha256.Sum256([]byte(content))
	if source.Filename != "社員名簿 2026.csv" || source.MediaType != "text/csv" || source.Size != int64(len(content)) ||
		source.Sha256 != hex.EncodeToString(sum[:]) {
		t.Errorf("uploaded %+v", source)
	}
	again := get[api.DataSource](f, http.StatusOK, upload(f.alice.Subject, "写し.csv", content))
	if again != source {
		t.Errorf("uploaded again %+v", again)
	}
	list := get[api.DataSourceList](f, http.StatusOK, call{
		method: "GET", path: "/v1/data-source?limit=5",
		token: f.alice.Subject,
	})
	if len(list.Items) != 1 || list.Items[0] != source {
		t.Errorf("listed %+v", list)
	}
	if resp := f.do(call{
		method: "GET", path: "/v1/data-source?limit=101",
		token: f.alice.Subject,
	}); resp.status != http.StatusBadRequest {
		t.Errorf("limit 101: %d", resp.status)
	}

	// R67: never displayed in the browser.
	resp := f.do(call{method: "GET", path: "/v1/data-source/file/" + source.ID.String(), token: f.alice.Subject})
	disposition, params, err := mime.ParseMediaType(resp.header.Get("Content-Disposition"))
	if resp.status != http.StatusOK || string(resp.body) != content || err != nil || disposition != "attachment" ||
		params["filename"] != source.Filename ||
		resp.header.Get("Content-Type") != "application/octet-stream" ||
		resp.header.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("%d %v %q", resp.status, resp.header, resp.body)
	}
}

func TestR67_PagesAreNeverShown(t *testing.T) {
	t.Parallel()
	f := newFixture(t, llmtest.Say("はい"))
	source := get[api.DataSource](f, http.StatusCreated, upload(f.alice.Subject, "\"x\"; a.html",
		"<script>alert(1)</script>"))
	resp := f.do(call{method: "GET", path: "/v1/data-source/file/" + source.ID.String(), token: f.alice.Subject})
	if !strings.HasPrefix(resp.header.Get("Content-Disposition"), "attachment;") ||
		resp.header.Get("Content-Type") != "application/octet-stream" ||
		!strings.Contains(resp.header.Get("Content-Security-Policy"), "sandbox") {
		t.Errorf("%v", resp.header)
	}
}

func TestRefusedUploads(t *testing.T) {
	t.Parallel()
	f := newFixture(t, llmtest.Say("はい"))
	cut := upload(f.alice.Subject, "a.txt", "途中まで")
	cut.body = cut.body.(string)[:len(cut.body.(string))-30]
	otherField := upload(f.alice.Subject, "a.txt", "本文")
	otherField.body = strings.Replace(otherField.body.(string), `name="file"`, `name="document"`, 1)
	noFile := upload(f.alice.Subject, "a.txt", "本文")
	noFile.body = noFile.body.(string)[strings.LastIndex(noFile.body.(string), "\r\n--")+2:]
	for name, test := range map[string]struct {
		call   call
		status int
		code   string
	}{
		"not a form": {call{
			method: "POST", path: "/v1/data-source/file", token: f.alice.Subject,
			body: map[string]string{"file": "x"},
		}, http.StatusUnsupportedMediaType, "unsupported_media_type"},
		"other field": {otherField, http.StatusBadRequest, "invalid"},
		"no file":     {noFile, http.StatusBadRequest, "invalid"},
		"cut off":     {cut, http.StatusBadRequest, "invalid"},
		"empty":       {upload(f.alice.Subject, "a.txt", ""), http.StatusBadRequest, "invalid"},
		"a program": {
			upload(f.alice.Subject, "a.exe", "MZ"), http.StatusUnsupportedMediaType,
			"unsupported_media_type",
		},
		"no name": {upload(f.alice.Subject, "", "x"), http.StatusBadRequest, "invalid"},
		"too large": {
			upload(f.alice.Subject, "a.txt", strings.Repeat("a", datasource.MaxSize+1)),
			http.StatusRequestEntityTooLarge, "too_large",
		},
		"without type": {
			call{
				method: "POST", path: "/v1/data-source/file", token: f.alice.Subject, body: "",
				header: map[string]string{"Content-Type": "multipart/form-data"},
			},
			http.StatusUnsupportedMediaType,
			"unsupported_media_type",
		},
	} {
		resp := f.do(test.call)
		if p := resp.problem(t); resp.status != test.status || p.Code != test.code || p.Detail == "" {
			t.Errorf("%s: %d %+v", name, resp.status, p)
		}
	}
	if list := get[api.DataSourceList](f, http.StatusOK, call{
		method: "GET", path: "/v1/data-source",
		token: f.alice.Subject,
	}); len(list.Items) != 0 {
		t.Errorf("listed %+v", list)
	}
}

// beginUpload sends the first half of a file, and finish the rest.
func (f *fixture) beginUpload(token string) (finish func() response) {
	f.t.Helper()
	whole := upload(token, "長い資料.txt", strings.Repeat("本文", 10_000))
	content := whole.body.(string)
	body, more := io.Pipe()
	req := f.request(whole)
	req.Body, req.ContentLength = body, int64(len(content))
	answered := make(chan response, 1)
	go func() {
		resp, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			f.t.Error(err)
			answered <- response{}
			return
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		if err != nil {
			f.t.Error(err)
		}
		answered <- response{resp.StatusCode, resp.Header, text}
	}()
	if _, err := io.WriteString(more, content[:len(content)/2]); err != nil {
		f.t.Fatal(err)
	}
	return func() response {
		if _, err := io.WriteString(more, content[len(content)/2:]); err != nil {
			f.t.Error(err)
		}
		_ = more.Close()
		return <-answered
	}
}

// TestR45_UploadAfterRemovalStoresNothing: the upload is discarded, whatever ends the session during the upload.
func TestR45_UploadAfterRemovalStoresNothing(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		end    func(f *fixture, token string)
		detail string
	}{
		"disabled": {func(f *fixture, _ string) {
			f.exec("UPDATE users SET state = 'inactive' WHERE id = $1",
				f.alice.ID)
		}, "Not authenticated: no user found"},
		"removed": {
			func(f *fixture, _ string) { f.exec("DELETE FROM users WHERE id = $1", f.alice.ID) },
			"Not authenticated: no user found",
		},
		"signed out": {
			func(f *fixture, token string) { f.do(call{method: "POST", path: "/v1/signout", token: token}) },
			"jwt expired",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixtureWith(t, llmtest.Say("はい"), settings{pool: true, reads: true})
			f.account(&f.alice)
			token := f.signIn(f.alice).IDToken
			finish := f.beginUpload(token)
			// The call is admitted once the file is being written.
			must.Become(f.t, "nothing is written", func() bool { return len(f.keptFiles()) == 1 })
			test.end(f, token)
			resp := finish()
			if p := resp.problem(t); resp.status != http.StatusUnauthorized || p.Detail != test.detail {
				t.Errorf("%d %s", resp.status, resp.body)
			}
			f.exec("UPDATE users SET state = 'active'")
			var stored int
			f.scan(&stored, "SELECT count(*) FROM data_sources")
			if stored != 0 {
				t.Errorf("%d data sources are kept", stored)
			}
			must.Become(f.t, "the file is kept", func() bool { return len(f.keptFiles()) == 0 })
		})
	}
}

func TestPagesAreShownToTheirOwnerOnly(t *testing.T) {
	t.Parallel()
	f := newFixture(t, llmtest.Say("はい"))
	source := get[api.DataSource](f, http.StatusCreated, upload(f.alice.Subject, "資料.pdf", "%PDF-1.7"))
	page := func(token, rest string) response {
		return f.do(call{path: "/v1/data-source/" + source.ID.String() + "/page/" + rest, token: token})
	}
	shown := page(f.alice.Subject, "1?width=300")
	if shown.status != http.StatusOK || string(shown.body) != "page 1, 300 pixels wide" ||
		shown.header.Get("Content-Type") != "image/png" ||
		shown.header.Get("Cache-Control") != "private, no-cache" || shown.header.Get("ETag") == "" {
		t.Errorf("got %d %q %v", shown.status, shown.body, shown.header)
	}
	for rest, want := range map[string]int{
		"1?width=199": http.StatusBadRequest, "1?width=2001": http.StatusBadRequest, "1?width=a": http.StatusBadRequest,
		"0": http.StatusNotFound, "a": http.StatusNotFound, "2": http.StatusNotFound,
	} {
		if got := page(f.alice.Subject, rest); got.status != want {
			t.Errorf("%s: got %d, want %d", rest, got.status, want)
		}
	}
	if got := page(f.bob.Subject, "1"); got.status != http.StatusNotFound {
		t.Errorf("somebody else got %d", got.status)
	}
}

// TestR84_ForeignPassagesAndPages: passages, their positions, pages and files of another person are treated as if they
// did not exist, even if this server has cached them for their owner. The same applies to those of a deleted data
// source.
func TestR84_ForeignPassagesAndPages(t *testing.T) {
	t.Parallel()
	f := newFixtureWith(t, llmtest.Say("はい"), settings{reads: true})
	thread := f.thread(f.alice.Subject)
	source := get[api.DataSource](f, http.StatusCreated, upload(f.alice.Subject, "資料.pdf", "表紙\f秘密の文"))
	get[api.Preprocess](f, http.StatusOK, preprocess(f.alice.Subject, thread.ID, true, newID(), source.ID))
	var passage uuid.UUID
	f.scan(&passage, "SELECT id FROM data_source_chunks WHERE page = 2")
	paths := func(source, passage uuid.UUID) []string {
		return []string{
			"/v1/data-source-chunk-embedding/" + passage.String(),
			"/v1/data-source/" + source.String() + "/page/2?width=300",
			"/v1/data-source/file/" + source.String(),
		}
	}
	tags := make(map[string]string)
	look := func(token, path string) response {
		return f.do(call{path: path, token: token, header: map[string]string{"If-None-Match": tags[path]}})
	}
	for _, path := range paths(source.ID, passage) {
		resp := look(f.alice.Subject, path)
		if resp.status != http.StatusOK {
			t.Errorf("%s: %d %s", path, resp.status, resp.body)
		}
		tags[path] = resp.header.Get("ETag")
	}
	missing := paths(uuid.New(), uuid.New())
	notFound := func(token string) {
		t.Helper()
		for i, path := range paths(source.ID, passage) {
			got, want := look(token, path).problem(t), look(token, missing[i]).problem(t)
			got.RequestID, got.TraceID = want.RequestID, want.TraceID
			if got.Status != http.StatusNotFound || !reflect.DeepEqual(got, want) {
				t.Errorf("%s: %+v, and one that is not there %+v", path, got, want)
			}
		}
	}
	notFound(f.bob.Subject)
	notFound(f.stranger.Subject)
	if resp := look(f.alice.Subject, paths(source.ID, passage)[1]); resp.status != http.StatusNotModified {
		t.Errorf("its owner's browser is told %d", resp.status)
	}
	f.do(call{method: "DELETE", path: "/v1/data-source/" + source.ID.String(), token: f.alice.Subject})
	notFound(f.alice.Subject)
}
