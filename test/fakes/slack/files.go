package slack

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strconv"
)

const maxFile = 1 << 30 // In bytes.

// File is an uploaded file.
type File struct {
	ID, Name, Title string
	User            string
	Content         []byte
	Channel         string // The channel that contains it.
	announced       int    // The length announced for the upload.
}

func (w *Workspace) fileJSON(f *File) object {
	address := w.url + "/files-pri/" + f.ID
	return object{
		"id": f.ID, "name": f.Name, "title": cmp.Or(f.Title, f.Name),
		"mimetype": mediaType(f.Name), "user": f.User, "size": len(f.Content), "mode": "hosted", "is_external": false,
		"url_private":          address + "/" + url.PathEscape(f.Name),
		"url_private_download": address + "/download/" + url.PathEscape(f.Name),
	}
}

func mediaType(name string) string {
	return cmp.Or(mime.TypeByExtension(path.Ext(name)), "application/octet-stream")
}

func (c *call) filesInfo() (object, error) {
	file := c.files[c.args["file"]]
	if file == nil || !c.readsFile(file) {
		return nil, fail("file_not_found")
	}
	return object{"file": c.fileJSON(file)}, nil
}

// readsFile reports whether the bot is a member of the channel that contains a file. The caller holds w.mu.
func (w *Workspace) readsFile(file *File) bool {
	channel := w.channel(file.Channel)
	return channel != nil && w.member(channel, DemoBot)
}

func (c *call) filesUploadURL() (object, error) {
	length, err := strconv.Atoi(c.args["length"])
	if c.args["filename"] == "" || err != nil || length < 1 || length > maxFile {
		return nil, fail("invalid_arguments")
	}
	file := &File{ID: c.id("F"), Name: c.args["filename"], User: DemoBot, announced: length}
	c.files[file.ID] = file
	return object{"file_id": file.ID, "upload_url": c.url + "/upload/v1/" + file.ID}, nil
}

// serveUpload receives the content of a file, as the body or as a part of a form.
func (w *Workspace) serveUpload(writer http.ResponseWriter, request *http.Request) {
	w.mu.Lock()
	file := w.files[request.PathValue("file")]
	w.mu.Unlock()
	if file == nil {
		http.Error(writer, "not found", http.StatusNotFound)
		return
	}
	var from io.Reader = request.Body
	if parts, err := request.MultipartReader(); err == nil {
		part, err := parts.NextPart()
		for err == nil && part.FileName() == "" {
			part, err = parts.NextPart()
		}
		if err != nil {
			http.Error(writer, "no file", http.StatusBadRequest)
			return
		}
		from = part
	}
	content, err := io.ReadAll(io.LimitReader(from, maxFile))
	if err != nil || len(content) != file.announced {
		http.Error(writer, "size mismatch", http.StatusBadRequest)
		return
	}
	w.mu.Lock()
	file.Content = content
	w.mu.Unlock()
	_, _ = fmt.Fprintf(writer, "OK - %d", len(content)) //nolint:gosec // A number.
}

func (c *call) filesComplete() (object, error) {
	var named []struct {
		ID    string `json:"id"`
		Title string `json:"title"`
	}
	if json.Unmarshal([]byte(c.args["files"]), &named) != nil || len(named) == 0 {
		return nil, fail("invalid_arguments")
	}
	channel, err := c.joined(cmp.Or(c.args["channel_id"], c.args["channels"]))
	if err != nil {
		return nil, err
	}
	m := c.own(channel)
	m.Text, m.Subtype = c.args["initial_comment"], "file_share"
	var answer []object
	for _, name := range named {
		file := c.files[name.ID]
		if file == nil || file.Content == nil || file.User != DemoBot {
			return nil, fail("file_not_found")
		}
		file.Title, file.Channel = name.Title, channel.ID
		m.Files = append(m.Files, *file)
		answer = append(answer, c.fileJSON(file))
	}
	c.post(m)
	c.emitMessage(channel, m)
	return object{"files": answer}, nil
}

// serveDownload serves a file to a bot that may read it, and redirects other clients to the sign-in page, as Slack
// does.
func (w *Workspace) serveDownload(writer http.ResponseWriter, request *http.Request) {
	w.mu.Lock()
	file := w.files[request.PathValue("file")]
	var content []byte
	allowed := file != nil && w.readsFile(file) && w.token != "" && bearer(request) == w.token &&
		slices.Contains(w.scopes, "files:read")
	if allowed {
		content = file.Content
	}
	w.mu.Unlock()
	if !allowed {
		http.Redirect(writer, request, "/?redir="+url.QueryEscape(request.URL.Path), http.StatusFound)
		return
	}
	writer.Header().Set("Content-Type", mediaType(file.Name))
	_, _ = writer.Write(content) // The client may have disconnected.
}
