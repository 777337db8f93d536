package datasource_test

import (
	"testing"

	"github.com/tsumugi-ai/tsumugi/internal/datasource/extract"
	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/redline"
)

func TestOriginal(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	file, err := redline.New("お客様各位\n明日の会議に行ます。")
	f.must(err)
	for name, content := range map[string]string{"案内.DOCX": string(file), "案内.txt": "お客様各位\n明日の会議に行ます。\n"} {
		uploaded, _ := f.upload(f.ann, name, content)
		source, text, word, err := f.Original(t.Context(), f.ann, uploaded.ID)
		if err != nil || text != "お客様各位\n明日の会議に行ます。" || word != (name == "案内.DOCX") || source.Filename != name {
			t.Errorf("%s: %q, %v, %v", name, text, word, err)
		}
		if _, _, _, err := f.Original(t.Context(), f.bob, uploaded.ID); fault.CodeOf(err) != fault.NotFound {
			t.Errorf("%s, another's: %v", name, err)
		}
	}
	broken, _ := f.upload(f.ann, "壊れた案内.docx", string(file[:100]))
	if _, _, _, err := f.Original(t.Context(), f.ann, broken.ID); fault.CodeOf(err) != fault.Conflict {
		t.Errorf("broken: %v", err)
	}
}

func TestWordFilesAreEdited(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	file, err := redline.New("お客様各位")
	f.must(err)
	word, _ := f.upload(f.ann, "案内.docx", string(file))
	plain, _ := f.upload(f.ann, "案内.txt", "お客様各位")
	broken, _ := f.upload(f.ann, "壊れた案内.docx", string(file[:100]))
	if text, err := f.Paragraphs(t.Context(), f.ann, word.ID); err != nil || text != "お客様各位" {
		t.Errorf("%q and error %v", text, err)
	}
	edit := redline.Edit{Changes: []redline.Change{{Before: "お客様", After: "皆様"}}}
	edited, err := f.Redline(t.Context(), f.ann, word.ID, edit)
	f.must(err)
	if text, err := extract.Paragraphs(edited); err != nil || text != "皆様各位" {
		t.Errorf("%q and error %v", text, err)
	}
	for name, try := range map[string]struct {
		do   func() error
		want fault.Code
	}{
		"another's": {func() error {
			_, err := f.Redline(t.Context(), f.bob, word.ID, edit)
			return err
		}, fault.NotFound},
		"another format": {func() error {
			_, err := f.Paragraphs(t.Context(), f.ann, plain.ID)
			return err
		}, fault.Conflict},
		"broken": {func() error {
			_, err := f.Paragraphs(t.Context(), f.ann, broken.ID)
			return err
		}, fault.Conflict},
		"another text": {func() error {
			_, err := f.Redline(t.Context(), f.ann, word.ID, redline.Edit{Changes: []redline.Change{{Before: "別"}}})
			return err
		}, fault.Conflict},
	} {
		if err := try.do(); fault.CodeOf(err) != try.want {
			t.Errorf("%s: error %v, want %s", name, err, try.want)
		}
	}
}
