package backup

import (
	"bytes"
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/datasource/bucket"
	"github.com/tsumugi-ai/tsumugi/store"
)

// exportFormat grows when the meaning of an export's records changes.
const exportFormat = 1

// guides explain the records to their readers.
//
//go:embed export/README.en.md export/README.ja.md
var guides embed.FS

// ExportManifest describes an export: all data of an organization in open formats. It is the only object that it does
// not list.
type ExportManifest struct {
	Format       int                  `json:"format"`
	Version      string               `json:"version"` // Of the program that made the export.
	Organization ExportedOrganization `json:"organization"`
	Started      time.Time            `json:"started"` // All data are as of this time.
	Finished     time.Time            `json:"finished"`
	Records      []ExportedRecords    `json:"records"`
	Files        []ExportedObject     `json:"files"`
	Guides       []ExportedObject     `json:"guides"`
}

// ExportedOrganization is the organization of an export.
type ExportedOrganization struct {
	ID   uuid.UUID `json:"id"`
	Name string    `json:"name"`
}

// ExportedObject is an object of an export, with its path in the folder or the bucket.
type ExportedObject struct {
	Path string `json:"path"`
	Object
}

// ExportedRecords are the records of one kind, in JSON Lines.
type ExportedRecords struct {
	Kind  string `json:"kind"`
	Count int    `json:"count"`
	ExportedObject
}

// Export writes all data of an organization into an empty folder or bucket, while servers run. The manifest is written
// last. After an error, Export removes what it has written.
func Export(ctx context.Context, db *store.DB, files, target *bucket.Bucket, organizationID uuid.UUID, version string,
	progress Progress,
) (_ ExportManifest, err error) {
	for _, err := range target.List(ctx, "") {
		if err == nil {
			err = errors.New("the target of an export must be empty")
		}
		return ExportManifest{}, err
	}
	view, err := db.OpenSnapshot(ctx)
	if err != nil {
		return ExportManifest{}, err
	}
	defer view.Close(ctx)
	m := ExportManifest{Format: exportFormat, Version: version, Started: time.Now().UTC()}
	found, err := view.Organization(ctx, organizationID)
	if err != nil {
		return m, err
	}
	m.Organization = ExportedOrganization{found.ID, found.Name}
	e := &export{run{Options{Progress: progress}, view, files, target, snapshot{}}, &m}
	if err := e.copy(ctx); err != nil {
		return m, errors.Join(err, e.cleanUp(ctx, ""))
	}
	return m, nil
}

// export is an export in progress.
type export struct {
	run
	*ExportManifest
}

// copy writes everything.
func (e *export) copy(ctx context.Context) error {
	if err := e.copyRecords(ctx); err != nil {
		return err
	}
	if err := e.copyFiles(ctx); err != nil {
		return err
	}
	for _, name := range []string{"README.en.md", "README.ja.md"} {
		text, err := guides.ReadFile("export/" + name)
		if err != nil {
			return err
		}
		object, err := e.write(ctx, name, Recipients{}, bytes.NewReader(text))
		if err != nil {
			return err
		}
		e.Guides = append(e.Guides, ExportedObject{name, object})
	}
	if err := e.db.Check(ctx); err != nil {
		return err
	}
	e.Finished = time.Now().UTC()
	text, err := json.MarshalIndent(e.ExportManifest, "", "\t")
	if err != nil {
		return err
	}
	_, err = e.write(ctx, manifestName, Recipients{}, bytes.NewReader(text))
	return err
}

// copyRecords writes the records of each kind.
func (e *export) copyRecords(ctx context.Context) error {
	kinds := store.ExportKinds()
	for i, kind := range kinds {
		records := ExportedRecords{Kind: kind, ExportedObject: ExportedObject{Path: kind + ".jsonl"}}
		var err error
		records.Object, err = e.writeFrom(ctx, records.Path, Recipients{}, func(w io.Writer) (err error) {
			records.Count, err = e.db.ExportRecords(ctx, kind, e.Organization.ID, w)
			return err
		})
		if err != nil {
			return fmt.Errorf("%s: %w", kind, err)
		}
		e.Records = append(e.Records, records)
		e.Progress("records", i+1, len(kinds))
	}
	return nil
}

// copyFiles writes the files.
func (e *export) copyFiles(ctx context.Context) error {
	list, err := e.db.ExportedFiles(ctx, e.Organization.ID)
	if err == nil {
		err = e.db.End(ctx)
	}
	if err != nil {
		return err
	}
	e.Files = make([]ExportedObject, len(list))
	done := counter{items: "files", total: len(list), progress: e.Progress}
	return forEach(ctx, len(list), workers, func(ctx context.Context, i int) error {
		content, err := e.openFile(ctx, list[i].ID)
		if err != nil {
			return err
		}
		defer func() { _ = content.Close() }()
		if _, err := io.CopyN(io.Discard, content, list[i].Skip); err != nil {
			return fmt.Errorf("the file %s: %w", list[i].ID, err)
		}
		object, err := e.write(ctx, list[i].Path, Recipients{}, io.LimitReader(content, list[i].Size))
		if err == nil && object.Size != list[i].Size {
			err = fmt.Errorf("the file %s has %d bytes, not %d", list[i].ID, object.Size, list[i].Size)
		}
		e.Files[i] = ExportedObject{list[i].Path, object}
		done.add()
		return err
	})
}
