package datasource_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/datasource"
	"github.com/tsumugi-ai/tsumugi/internal/fault"
)

func TestUploadIsReadAndReported(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.start(f.Service)
	source, created := f.upload(f.ann, "就業規則.txt", "第1条 始業は9時とする。\n\n第2条 終業は18時とする。")
	if !created || source.Status != datasource.Pending || source.Revision != 1 || source.MediaType != "text/plain" ||
		source.Size != 69 {
		t.Errorf("created %v, %+v", created, source)
	}
	all := f.ended(source)
	if got := statuses(all); !slices.Equal(got, []datasource.Status{
		datasource.Pending, datasource.Running,
		datasource.Success,
	}) {
		t.Errorf("events %v", got)
	}
	last := all[len(all)-1]
	if last.Revision != 3 || last.PageCount != 1 || last.ChunkCount == 0 || last.Failure != "" {
		t.Errorf("ended as %+v", last)
	}
	if text := strings.Join(f.chunks(source.ID), ""); !strings.Contains(text, "始業は9時") ||
		!strings.Contains(text, "終業は18時") {
		t.Errorf("the chunks are %q", text)
	}
	list, err := f.List(t.Context(), f.ann, "", 0, 20)
	f.must(err)
	if len(list) != 1 || list[0].Status != datasource.Success || list[0].Revision != last.Revision {
		t.Errorf("the list is %+v", list)
	}
	found, file, err := f.Open(t.Context(), f.ann, source.ID)
	f.must(err)
	defer file.Close()
	content, err := io.ReadAll(file)
	f.must(err)
	if found.Filename != "就業規則.txt" || !bytes.HasPrefix(content, []byte("第1条")) || len(content) != 69 {
		t.Errorf("%s holds %q", found.Filename, content)
	}
}

func TestUnreadableFileHasAReasonAndCanBeUploadedAgain(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.start(f.Service)
	binary := strings.Repeat("\x00\x01\x02\x03\xff", 100)
	source, _ := f.upload(f.ann, "画像.txt", binary)
	failed := f.ended(source)[2]
	if failed.Status != datasource.Failed || failed.Failure == "" || failed.ChunkCount != 0 {
		t.Fatalf("ended as %+v", failed)
	}
	again, created := f.upload(f.ann, "画像.csv", binary)
	if created || again.ID != source.ID || again.Status != datasource.Pending || again.Revision <= failed.Revision ||
		again.Filename != "画像.csv" || again.MediaType != "text/csv" || again.Failure != "" {
		t.Errorf("created %v, %+v", created, again)
	}
	want := []datasource.Status{datasource.Pending, datasource.Running, datasource.Failed}
	if got := statuses(f.ended(again)); !slices.Equal(got, want) {
		t.Errorf("events %v", got)
	}
	f.awaitFiles(source.ID)
}

func TestSameContentIsKeptOnceForEachPerson(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	first, _ := f.upload(f.ann, "議事録.txt", "本日の議題は三つです。")
	f.start(f.Service)
	if last := f.ended(first)[2]; last.Status != datasource.Success {
		t.Fatalf("ended as %+v", last)
	}
	second, created := f.upload(f.ann, "議事録のコピー.txt", "本日の議題は三つです。")
	if created || second.ID != first.ID || second.Filename != "議事録.txt" || second.Status != datasource.Success {
		t.Errorf("created %v, %+v", created, second)
	}
	others, created := f.upload(f.bob, "議事録.txt", "本日の議題は三つです。")
	if !created || others.ID == first.ID {
		t.Errorf("a colleague: created %v, %+v", created, others)
	}
	f.ended(others)
	f.awaitFiles(first.ID, others.ID)
	if list, err := f.List(t.Context(), f.ann, "", 0, 20); err != nil || len(list) != 1 {
		t.Errorf("%v, %+v", err, list)
	}
}

func TestDeletionRemovesTheFile(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.start(f.Service)
	source, _ := f.upload(f.ann, "a.md", "# 見出し\n\n本文")
	f.ended(source)
	wantCode(t, f.Delete(t.Context(), f.bob, source.ID), fault.NotFound)
	_, _, err := f.Open(t.Context(), f.bob, source.ID)
	wantCode(t, err, fault.NotFound)
	// A file of a server that died during Write.
	f.must(os.WriteFile(filepath.Join(f.dir, "data-source", source.ID.String()+".1234.tmp"), []byte("半"), 0o600))
	f.must(f.Delete(t.Context(), f.ann, source.ID))
	f.await(func(all []told) bool {
		return slices.ContainsFunc(all, func(e told) bool { return e.deleted == source.ID && e.owner == f.ann })
	})
	f.awaitFiles()
	wantCode(t, f.Delete(t.Context(), f.ann, source.ID), fault.NotFound)
}

// TestFilesOfARemovedPersonAreRemoved verifies the removal without a call of Delete.
func TestFilesOfARemovedPersonAreRemoved(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	source, _ := f.upload(f.ann, "a.txt", "私のメモ")
	kept, _ := f.upload(f.bob, "a.txt", "私のメモ")
	f.exec(`DELETE FROM users WHERE id = $1`, f.ann.UserID)
	f.start(f.Service)
	f.awaitFiles(kept.ID)
	wantCode(t, f.Delete(t.Context(), f.ann, source.ID), fault.NotFound)
}

func TestRefusedUploadsLeaveNothing(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.start(f.Service)
	cut := errors.New("cut")
	for name, test := range map[string]struct {
		filename string
		content  io.Reader
		want     func(error) bool
	}{
		"empty":     {"a.txt", strings.NewReader(""), hasCode(fault.Invalid)},
		"too large": {"a.txt", io.LimitReader(letters{}, datasource.MaxSize+1), hasCode(fault.TooLarge)},
		"cut off": {
			"a.txt", io.MultiReader(strings.NewReader("半分"), iotest.ErrReader(cut)),
			func(err error) bool { return errors.Is(err, cut) },
		},
		"a program": {"a.exe", strings.NewReader("MZ"), hasCode(fault.UnsupportedType)},
		"Word 97": {"a.doc", strings.NewReader("x"), func(err error) bool {
			return hasCode(fault.UnsupportedType)(err) && strings.Contains(err.Error(), "「名前を付けて保存」で.docx形式")
		}},
		"no kind": {"README", strings.NewReader("x"), hasCode(fault.UnsupportedType)},
		"no name": {"\u202e/", strings.NewReader("x"), hasCode(fault.Invalid)},
	} {
		if _, _, err := f.Upload(t.Context(), f.ann, uuid.Nil, test.filename, test.content); !test.want(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
	f.awaitFiles()
	if list, err := f.List(t.Context(), f.ann, "", 0, 20); err != nil || len(list) != 0 {
		t.Errorf("%v, %+v", err, list)
	}
	if source, created := f.upload(f.ann, "全部.txt", strings.Repeat("a", datasource.MaxSize)); !created ||
		source.Size != datasource.MaxSize {
		t.Errorf("as large as it may be: %+v", source)
	}
}

func hasCode(code fault.Code) func(error) bool {
	return func(err error) bool { return fault.CodeOf(err) == code }
}

// letters is an endless reader.
type letters struct{}

func (letters) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'a'
	}
	return len(p), nil
}

func TestR65_NamesAreCleaned(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for given, want := range map[string]string{
		"../../etc/passwd.txt":            "passwd.txt",
		`C:\Users\花子\規程.txt`:              "規程.txt",
		"a\x00b\r\nc.txt":                 "abc.txt",
		"請求\u202etxt.exe.txt":             "請求txt.exe.txt",
		"カ\u3099イト.txt":                   "ガイト.txt",
		"\xff壊れた.txt":                     "\uFFFD壊れた.txt",
		strings.Repeat("長", 300) + ".txt": strings.Repeat("長", 238) + "…" + strings.Repeat("長", 12) + ".txt",
	} {
		for _, given := range []string{given, "\t " + given + " "} {
			if source, _ := f.upload(f.ann, given, given); source.Filename != want {
				t.Errorf("%q became %q, want %q", given, source.Filename, want)
			}
		}
	}
}
