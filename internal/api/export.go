package api

import (
	"archive/zip"
	"compress/flate"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"path"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/internal/datasource"
	"github.com/tsumugi-ai/tsumugi/internal/datasource/bucket"
	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/japan"
	"github.com/tsumugi-ai/tsumugi/internal/picture"
	"github.com/tsumugi-ai/tsumugi/internal/runes"
	"github.com/tsumugi-ai/tsumugi/internal/skill"
)

// wholeList is the limit for lists that are read at once. Pages would miss records if the list changed between them.
const wholeList = math.MaxInt32

// exportGuide explains the archive to its reader.
//
//go:embed export.txt
var exportGuide []byte

// exportOwnData streams the person's data as a ZIP archive. An error after the first byte ends the connection, so that
// the client notices that the archive is incomplete.
func (s *Server) exportOwnData(c *call) error {
	guidance, err := s.Org.Guidance(c.ctx(), c.actor)
	if err != nil {
		return err
	}
	threads, err := s.threadIDs(c)
	if err != nil {
		return err
	}
	attach(c.w, "tsumugi-data.zip")
	c.w.Header().Set("Content-Type", "application/zip")
	c.w.Header().Set("Cache-Control", "no-store")
	a := newArchive(s, c)
	if err := a.writeAll(threads, toAbout(guidance.About)); err != nil {
		s.log.WarnContext(c.ctx(), "api: export ended early", "user_id", c.actor.ID, "err", err)
		panic(http.ErrAbortHandler)
	}
	return nil
}

// threadIDs returns the ids of all listed and archived threads of the person, most recently used first.
func (s *Server) threadIDs(c *call) (ids []uuid.UUID, _ error) {
	for _, archived := range []bool{false, true} {
		list, err := s.Chat.ListThreads(c.ctx(), c.actor.Owner(), chat.ThreadFilter{Archived: archived}, 0, wholeList)
		if err != nil {
			return nil, err
		}
		for _, t := range list {
			ids = append(ids, t.ID)
		}
	}
	return ids, nil
}

// archive is the export of a person in progress.
type archive struct {
	*Server
	*call
	zip      *zip.Writer
	pictures map[uuid.UUID]bool // Ids of the pictures that were written or are missing.
	missing  []string           // Names of the entries whose files do not exist in the bucket.
}

func newArchive(s *Server, c *call) *archive {
	a := &archive{Server: s, call: c, zip: zip.NewWriter(patientWriter{c.w}), pictures: make(map[uuid.UUID]bool)}
	a.zip.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) {
		return flate.NewWriter(w, flate.BestSpeed)
	})
	return a
}

// missingNote begins the list of missing files in the guide.
const missingNote = "\n次のファイルは、サーバーに見つからないため含みません。管理者にお知らせください。\n"

// writeAll writes the archive. It skips what is deleted meanwhile. The guide comes last, because it names the missing
// files.
func (a *archive) writeAll(threads []uuid.UUID, about About) error {
	if err := a.writeJSON("profile.json", struct {
		Me    Me    `json:"me"`
		About About `json:"about"`
	}{toMe(a.actor), about}); err != nil {
		return err
	}
	for _, id := range threads {
		if err := a.writeThread(id); err != nil && fault.CodeOf(err) != fault.NotFound {
			return err
		}
	}
	if err := a.writeFiles(); err != nil {
		return err
	}
	if err := a.writeSkills(); err != nil {
		return err
	}
	guide := string(exportGuide)
	if len(a.missing) > 0 {
		guide += missingNote + strings.Join(a.missing, "\n") + "\n"
	}
	if err := a.write("README.txt", []byte(guide)); err != nil {
		return err
	}
	return a.zip.Close()
}

// writeThread writes a thread with all its branches as JSON, the branch that was shown last as Markdown, and the
// pictures of its questions.
func (a *archive) writeThread(id uuid.UUID) error {
	owner := a.actor.Owner()
	thread, err := a.Chat.FindThread(a.ctx(), owner, id)
	if err != nil {
		return err
	}
	messages, err := a.Chat.ListAllMessages(a.ctx(), owner, id, wholeList)
	if err != nil {
		return err
	}
	branch, err := a.Chat.ListMessages(a.ctx(), owner, id, nil, 0, wholeList)
	if err != nil {
		return err
	}
	slices.Reverse(branch)
	name := entryName("threads", thread.CreatedAt.In(japan.Zone).Format(time.DateOnly)+" "+thread.Title, id)
	if err := a.writeJSON(name+".json", struct {
		Thread   Thread    `json:"thread"`
		Messages []Message `json:"messages"`
	}{a.thread(thread), convert(messages, toMessage)}); err != nil {
		return err
	}
	if err := a.write(name+".md", []byte(threadMarkdown(thread, branch))); err != nil {
		return err
	}
	for _, m := range messages {
		for _, p := range m.Pictures {
			if err := a.writePicture(p); err != nil && fault.CodeOf(err) != fault.NotFound {
				return err
			}
		}
	}
	return nil
}

func (a *archive) writePicture(p picture.Picture) error {
	if a.pictures[p.ID] {
		return nil
	}
	ending := ".jpg"
	if p.MediaType == "image/png" {
		ending = ".png"
	}
	name := "pictures/" + p.ID.String() + ending
	_, content, err := a.Pictures.Open(a.ctx(), a.actor.Owner(), p.ID, picture.Full)
	switch {
	case errors.Is(err, bucket.ErrMissing):
		a.pictures[p.ID] = true
		a.missing = append(a.missing, name)
		return nil
	case err != nil:
		return err
	}
	a.pictures[p.ID] = true
	return a.copy(name, content)
}

func (a *archive) writeFiles() error {
	sources, err := a.Sources.List(a.ctx(), a.actor.Owner(), "", 0, wholeList)
	for i := 0; i < len(sources) && err == nil; i++ {
		err = a.writeFile(sources[i].Source)
	}
	return err
}

func (a *archive) writeFile(source datasource.Source) error {
	_, content, err := a.Sources.Open(a.ctx(), a.actor.Owner(), source.ID)
	if fault.CodeOf(err) == fault.NotFound {
		return nil
	}
	ending := path.Ext(source.Filename)
	name := entryName("files", strings.TrimSuffix(source.Filename, ending), source.ID) + plainName(ending)
	if errors.Is(err, bucket.ErrMissing) {
		a.missing = append(a.missing, name)
		return nil
	}
	if err != nil {
		return err
	}
	return a.copy(name, content)
}

// writeSkills writes the person's own skills.
func (a *archive) writeSkills() error {
	for _, archived := range []bool{false, true} {
		skills, _, err := a.Library.List(a.ctx(), a.actor, skill.ShelfOwn, archived, 0, wholeList)
		if err != nil {
			return err
		}
		for _, s := range skills {
			content, err := a.Library.Export(a.ctx(), a.actor, s.ID)
			if fault.CodeOf(err) == fault.NotFound {
				continue
			}
			if err == nil {
				err = a.write(entryName("skills", s.Content.Name, s.ID)+".yaml", content)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

func (a *archive) writeJSON(name string, record any) error {
	text, err := json.MarshalIndent(record, "", "  ")
	if err != nil {
		return err
	}
	return a.write(name, text)
}

func (a *archive) write(name string, content []byte) error {
	w, err := a.create(name)
	if err == nil {
		_, err = w.Write(content)
	}
	return err
}

// copy writes a file and closes it.
func (a *archive) copy(name string, content io.ReadCloser) error {
	defer func() { _ = content.Close() }()
	w, err := a.create(name)
	if err == nil {
		_, err = io.Copy(w, content)
	}
	return err
}

func (a *archive) create(name string) (io.Writer, error) {
	return a.zip.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Deflate, Modified: time.Now()})
}

const maxEntryName = 60 // Characters of a title or a filename.

// entryName returns the name of an entry without its extension. It ends with a part of the id, because titles and
// filenames are not unique.
func entryName(folder, title string, id uuid.UUID) string {
	text := id.String()
	return fmt.Sprintf("%s/%s-%s", folder, runes.First(plainName(title), maxEntryName), text[len(text)-12:])
}

// plainName replaces characters that a file system may not allow in names.
func plainName(name string) string {
	return strings.TrimLeft(strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) || strings.ContainsRune(`\/:*?"<>|`, r) {
			return '_'
		}
		return r
	}, name), " ")
}

// threadMarkdown returns a branch as a Markdown document. The app saves threads in the same form.
func threadMarkdown(thread chat.Thread, branch []chat.Message) string {
	parts := []string{"# " + thread.Title, thread.SkillName + "・" + local(&thread.CreatedAt)}
	for _, m := range branch {
		switch {
		case m.Role == chat.RoleUser:
			parts = append(parts, "---", "## 質問", "> "+strings.ReplaceAll(m.Content, "\n", "\n> "))
		case m.Content != "":
			parts = append(parts, "## 回答", m.Content)
			if sources := sourceLines(m.Citations); len(sources) > 0 {
				parts = append(parts, "### 出典", strings.Join(sources, "\n"))
			}
		}
	}
	return strings.Join(parts, "\n\n") + "\n"
}

// sourceLines lists the sources that an answer refers to.
func sourceLines(citations []chat.Citation) (lines []string) {
	for _, c := range citations {
		if c.Support == "" { // It was only consulted.
			continue
		}
		line := fmt.Sprintf("- [%d] %s", c.Index, c.Filename)
		if c.Page > 0 && c.URL == "" {
			line += fmt.Sprintf("（%dページ）", c.Page)
		}
		lines = append(lines, strings.TrimSpace(line+" "+c.URL))
	}
	return lines
}
