package bucket_test

import (
	"bytes"
	"errors"
	"io"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/fsouza/fake-gcs-server/fakestorage"
	"github.com/google/uuid"
	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"github.com/tsumugi-ai/tsumugi/internal/datasource/bucket"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// TestMain sets the environment variables with credentials and addresses of the stores, as operators do.
func TestMain(m *testing.M) {
	server := httptest.NewUnstartedServer(nil)
	address := server.Listener.Addr().String()
	google, err := fakestorage.NewServerWithOptions(fakestorage.Options{
		NoListener: true, PublicHost: address, ExternalURL: "http://" + address,
	})
	if err != nil {
		panic(err)
	}
	google.CreateBucketWithOpts(fakestorage.CreateBucketOpts{Name: "files"})
	server.Config.Handler = google.HTTPHandler()
	server.Start()
	for name, value := range map[string]string{
		"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test-secret",
		"AWS_EC2_METADATA_DISABLED": "true", "STORAGE_EMULATOR_HOST": address,
	} {
		if os.Getenv(name) == "" {
			_ = os.Setenv(name, value)
		}
	}
	code := m.Run()
	server.Close()
	os.Exit(code)
}

// s3URL returns the URL of a bucket on an S3 server in this process.
func s3URL(t *testing.T) string {
	t.Helper()
	store := s3mem.New()
	must.Succeed(t, store.CreateBucket("files"))
	server := httptest.NewServer(gofakes3.New(store).Server())
	t.Cleanup(server.Close)
	return "s3://files?region=ap-northeast-1&use_path_style=true&endpoint=" + server.URL
}

// openers returns a function for each kind of bucket, and one for TSUMUGI_TEST_BLOB_URL if it is set.
func openers(t *testing.T) map[string]func() (*bucket.Bucket, error) {
	dir := t.TempDir()
	all := map[string]func() (*bucket.Bucket, error){
		"folder": func() (*bucket.Bucket, error) { return bucket.Open(dir) },
	}
	for name, url := range map[string]string{
		"S3": s3URL(t), "Google": "gs://files", "of the environment": os.Getenv("TSUMUGI_TEST_BLOB_URL"),
	} {
		if url != "" {
			all[name] = func() (*bucket.Bucket, error) { return bucket.OpenURL(t.Context(), url) }
		}
	}
	return all
}

func TestFilesAreStoredCompletelyOrNotAtAll(t *testing.T) {
	t.Parallel()
	large := bytes.Repeat([]byte("本日は晴天なり。"), 1<<20) // In several parts.
	for name, open := range openers(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := must.Get(open())(t)
			defer func() { _ = b.Close() }()
			if err := b.Check(t.Context()); err != nil {
				t.Errorf("the check: %v", err)
			}
			for size, content := range map[string][]byte{"small": []byte("議事録"), "large": large} {
				id := uuid.New()
				if err := b.Write(t.Context(), id, bytes.NewReader(content)); err != nil {
					t.Fatalf("%s: %v", size, err)
				}
				if got := read(t, b, id); !bytes.Equal(got, content) {
					t.Errorf("%s: %d bytes came back of %d", size, len(got), len(content))
				}
				for range 2 { // Removing a missing file is not an error.
					if err := b.Remove(t.Context(), id); err != nil {
						t.Errorf("%s: %v", size, err)
					}
				}
				wantNone(t, b, id)
			}
			cut := errors.New("cut")
			for size, half := range map[string]io.Reader{
				"small": strings.NewReader("半分"),
				"large": bytes.NewReader(large),
			} {
				id := uuid.New()
				if err := b.Write(t.Context(), id, io.MultiReader(half, iotest.ErrReader(cut))); !errors.Is(err, cut) {
					t.Errorf("%s: cut off, %v", size, err)
				}
				wantNone(t, b, id)
			}
			wantStats(t, b)
		})
	}
}

// wantStats checks that operations are counted by their result: two files were written and removed, and both were opened
// again. Opening a missing file fails, but a write whose source fails is not an error of the bucket.
func wantStats(t *testing.T, b *bucket.Bucket) {
	t.Helper()
	stats := b.Stats()
	if stats.Reads.Done != 2 || stats.Reads.Failed == 0 || stats.Writes != (bucket.Count{Done: 2}) ||
		stats.Removals.Done != 2 || stats.Removals.Failed != 0 {
		t.Errorf("%+v", stats)
	}
}

func read(t *testing.T, b *bucket.Bucket, id uuid.UUID) []byte {
	t.Helper()
	r := must.Get(b.Open(t.Context(), id))(t)
	defer func() { _ = r.Close() }()
	content := must.Get(io.ReadAll(r))(t)
	return content
}

func wantNone(t *testing.T, b *bucket.Bucket, id uuid.UUID) {
	t.Helper()
	if r, err := b.Open(t.Context(), id); err == nil {
		_ = r.Close()
		t.Errorf("file %s is there", id)
	}
}

func TestMissingBuckets(t *testing.T) {
	t.Parallel()
	for _, url := range []string{
		strings.Replace(s3URL(t), "s3://files", "s3://nowhere", 1), "gs://nowhere",
		"azblob://nowhere", // Without an account.
	} {
		if b, err := bucket.OpenURL(t.Context(), url); err == nil {
			_ = b.Close()
			t.Errorf("opened %s", url)
		}
	}
}

func TestObjectsAreListedAndRemoved(t *testing.T) {
	t.Parallel()
	for name, open := range openers(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := must.Get(open())(t)
			defer func() { _ = b.Close() }()
			prefix := uuid.NewString() + "/"
			list := func(prefix string) (all []bucket.Object) {
				for object, err := range b.List(t.Context(), prefix) {
					must.Succeed(t, err)
					all = append(all, object)
				}
				return all
			}
			want := []bucket.Object{{Name: prefix + "a/b", Size: 2}, {Name: prefix + "a/c", Size: 1}, {Name: prefix + "b", Size: 0}}
			for _, object := range want {
				content := strings.Repeat("x", int(object.Size))
				must.Succeed(t, b.WriteObject(t.Context(), object.Name, strings.NewReader(content)))
			}
			if got := list(prefix); !slices.Equal(got, want) {
				t.Errorf("listed %v", got)
			}
			if got := list(prefix + "a/"); !slices.Equal(got, want[:2]) {
				t.Errorf("listed %v", got)
			}
			for range 2 { // Removing a missing object is not an error.
				if err := b.RemoveObject(t.Context(), want[0].Name); err != nil {
					t.Error(err)
				}
			}
			if r, err := b.OpenObject(t.Context(), want[0].Name); !errors.Is(err, bucket.ErrMissing) {
				t.Errorf("opened %v, %v", r, err)
			}
			if got := list(prefix); !slices.Equal(got, want[1:]) {
				t.Errorf("listed %v", got)
			}
			for _, object := range want[1:] {
				_ = b.RemoveObject(t.Context(), object.Name)
			}
		})
	}
}
