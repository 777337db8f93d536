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
	"strings"
	"time"
)

const maxFile = 1 << 30 // In bytes.

// File is an uploaded file.
type File struct {
	ID, Name, Title string
	User, Team      string
	Content         []byte
	Shared          []string // Channels.
	Created         time.Time
	announced       int // The length announced for the upload.
	complete        bool
}

func (w *Workspace) fileJSON(f *File) object {
	address := w.url + "/files-pri/" + f.Team + "-" + f.ID
	kind := mime.TypeByExtension(path.Ext(f.Name))
	return object{
		"id": f.ID, "created": f.Created.Unix(), "timestamp": f.Created.Unix(), "name": f.Name,
		"title": cmp.Or(f.Title, f.Name), "mimetype": cmp.Or(kind, "application/octet-stream"),
		"filetype": strings.TrimPrefix(path.Ext(f.Name), "."), "user": f.User, "user_team": f.Team, "editable": false,
		"size": len(f.Content), "mode": "hosted", "is_external": false, "external_type": "", "is_public": false,
		"url_private": address + "/" + url.PathEscape(f.Name), "file_access": "visible",
		"url_private_download": address + "/download/" + url.PathEscape(f.Name),
		"permalink":            w.url + "/files/" + f.User + "/" + f.ID, "channels": slices.Clone(f.Shared),
	}
}

func (c *call) filesInfo() (object, error) {
	file := c.files[c.args["file"]]
	if file == nil || !file.complete || !c.readsFile(file) {
		return nil, fail("file_not_found")
	}
	return object{"file": c.fileJSON(file), "comments": []string{}}, nil
}

// readsFile reports whether the bot may read a file: it owns the file or is a member of a channel that contains it.
func (c *call) readsFile(file *File) bool {
	return file.User == c.in.UserID || slices.ContainsFunc(file.Shared, func(id string) bool {
		return c.channels[id] != nil && c.member(c.channels[id], c.in.UserID)
	})
}

func (c *call) filesUploadURL() (object, error) {
	if err := c.required("filename", "length"); err != nil {
		return nil, err
	}
	length, err := strconv.Atoi(c.args["length"])
	if err != nil || length < 1 {
		return nil, fail("missing_argument")
	}
	if length > maxFile {
		return nil, fail("file_upload_size_restricted")
	}
	file := &File{
		ID: c.id("F"), Name: c.args["filename"], User: c.in.UserID, Team: c.in.team.ID, Created: c.clock.now(),
		announced: length,
	}
	c.files[file.ID] = file
	return object{"file_id": file.ID, "upload_url": c.url + "/upload/v1/" + file.ID}, nil
}

// serveUpload receives the content of a file, as the body or as a part of a form.
func (w *Workspace) serveUpload(writer http.ResponseWriter, request *http.Request) {
	w.mu.Lock()
	file := w.files[request.PathValue("file")]
	w.mu.Unlock()
	if file == nil || file.complete {
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
	var channel *Channel
	if id := cmp.Or(c.args["channel_id"], c.args["channels"]); id != "" {
		var err error
		if channel, err = c.place(id); err != nil {
			return nil, err
		}
	}
	var files []File
	var answer []object
	for _, name := range named {
		file := c.files[name.ID]
		if file == nil || file.Content == nil {
			return nil, fail("file_not_found")
		}
		if file.User != c.in.UserID {
			return nil, fail("access_denied")
		}
		file.Title, file.complete = cmp.Or(name.Title, file.Name), true
		if channel != nil {
			file.Shared = append(file.Shared, channel.ID)
		}
		files = append(files, *file)
		answer = append(answer, c.fileJSON(file))
	}
	if channel != nil {
		thread, err := c.thread(channel)
		if err != nil {
			return nil, err
		}
		m := c.own(channel, thread)
		m.Text, m.Files, m.Subtype = c.args["initial_comment"], files, "file_share"
		c.post(m, c.method)
		c.emitMessage(channel, m)
	}
	return object{"files": answer}, nil
}

// serveDownload serves a file to a bot that may read it, and redirects other clients to the sign-in page, as Slack
// does.
func (w *Workspace) serveDownload(writer http.ResponseWriter, request *http.Request) {
	_, id, _ := strings.Cut(request.PathValue("file"), "-")
	c := &call{Workspace: w, token: strings.TrimPrefix(request.Header.Get("Authorization"), "Bearer ")}
	w.mu.Lock()
	file := w.files[id]
	var content []byte
	allowed := c.identify() == "" && c.in != nil && c.has("files:read") && file != nil && file.complete &&
		c.readsFile(file)
	fault := w.fault("download", "")
	if allowed {
		content = file.Content
	}
	w.mu.Unlock()
	if fault != nil && fault.breaks() {
		status, header, _ := fault.answer()
		if status == 0 {
			panic(http.ErrAbortHandler)
		}
		for name, values := range header {
			writer.Header()[name] = values
		}
		writer.WriteHeader(status)
		return
	}
	if !allowed {
		http.Redirect(writer, request, "/?redir="+url.QueryEscape(request.URL.Path), http.StatusFound)
		return
	}
	writer.Header().Set("Content-Type", cmp.Or(mime.TypeByExtension(path.Ext(file.Name)), "application/octet-stream"))
	writer.Header().Set("Content-Length", strconv.Itoa(len(content)))
	_, _ = writer.Write(content) // The client may have disconnected.
}
