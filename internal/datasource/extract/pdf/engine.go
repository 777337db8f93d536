package pdf

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"reflect"
	"time"

	"github.com/klippa-app/go-pdfium"
	"github.com/klippa-app/go-pdfium/webassembly"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

// Config contains the files of the machine that the engine uses.
type Config struct {
	Cache string    // Folder filled by Compile, "" to compile PDFium again, which takes seconds.
	Font  *FontFile // For text in a font that is not embedded; nil if there is none.
}

// Engine is one instance of PDFium. It is not safe for concurrent use.
type Engine struct {
	pool     pdfium.Pool
	module   api.Module
	calls    map[string]api.Function
	stack    [16]uint64
	scratch  uint32 // Address of scratchSize bytes for results of calls.
	withFont bool
}

const (
	scratchSize = 256
	startTime   = time.Minute
)

// Start starts an engine. The caller must close it.
func Start(cfg Config) (*Engine, error) {
	runtime := wazero.NewRuntimeConfig()
	if cfg.Cache != "" {
		cache, err := wazero.NewCompilationCacheWithDir(cfg.Cache)
		if err != nil {
			return nil, err
		}
		runtime = runtime.WithCompilationCache(cache)
	}
	// The guest can read only the font.
	files := wazero.NewFSConfig().WithFSMount(fontFolder{cfg.Font}, "/")
	pool, err := webassembly.Init(webassembly.Config{
		MaxIdle: 1, MaxTotal: 1, FSConfig: files, RuntimeConfig: runtime, Stdout: io.Discard, Stderr: io.Discard,
	})
	if err != nil {
		return nil, err
	}
	e := &Engine{pool: pool, calls: make(map[string]api.Function), withFont: cfg.Font != nil}
	instance, err := pool.GetInstance(startTime)
	if err != nil {
		return nil, errors.Join(err, pool.Close())
	}
	// The library's methods take a hundred times as long, because each call allocates and looks up its function.
	module, ok := reflect.ValueOf(instance.GetImplementation()).Elem().FieldByName("Module").Interface().(api.Module)
	if !ok {
		return nil, errors.Join(errors.New("pdf: the library has no module"), pool.Close())
	}
	e.module = module
	scratch, err := e.call("malloc", scratchSize)
	e.scratch = uint32(scratch) //nolint:gosec // Addresses have 32 bits.
	if err != nil || scratch == 0 {
		return nil, errors.Join(fmt.Errorf("pdf: no memory: %w", err), pool.Close())
	}
	return e, nil
}

// Close stops the engine.
func (e *Engine) Close() error { return e.pool.Close() }

// call calls a PDFium function.
func (e *Engine) call(name string, arguments ...uint64) (uint64, error) {
	f := e.calls[name]
	if f == nil {
		if f = e.module.ExportedFunction(name); f == nil {
			return 0, fmt.Errorf("pdf: PDFium has no %s", name)
		}
		e.calls[name] = f
	}
	copy(e.stack[:], arguments)
	if err := f.CallWithStack(context.Background(), e.stack[:]); err != nil {
		return 0, fmt.Errorf("pdf: %s: %w", name, err)
	}
	return e.stack[0], nil
}

// at returns the address of a scratch byte.
func (e *Engine) at(offset uint32) uint64 { return uint64(e.scratch + offset) }

func (e *Engine) float32(offset uint32) float64 {
	v, _ := e.module.Memory().ReadUint32Le(e.scratch + offset)
	return float64(math.Float32frombits(v))
}

func (e *Engine) int32(offset uint32) int32 {
	v, _ := e.module.Memory().ReadUint32Le(e.scratch + offset)
	return int32(v) //nolint:gosec // Same bits.
}

// put copies bytes into PDFium's memory. The caller must release them with free.
func (e *Engine) put(content []byte) (uint64, error) {
	address, err := e.call("malloc", uint64(max(1, len(content))))
	if err != nil {
		return 0, err
	}
	if address == 0 || !e.module.Memory().Write(uint32(address), content) { //nolint:gosec // Addresses have 32 bits.
		return 0, errors.New("pdf: out of memory")
	}
	return address, nil
}

func (e *Engine) free(address uint64) { _, _ = e.call("free", address) }

// string8 returns a short string that call writes to a buffer with a trailing zero byte. call returns its length in
// bytes.
func (e *Engine) string8(call func(buffer, size uint64) (uint64, error)) string {
	n, err := call(e.at(0), scratchSize)
	if err != nil || n == 0 || n > scratchSize {
		return ""
	}
	b, _ := e.module.Memory().Read(e.scratch, uint32(n)) //nolint:gosec // At most scratchSize.
	for i, c := range b {
		if c == 0 {
			b = b[:i]
			break
		}
	}
	return string(b)
}

// FontFile is a font that the guest can read.
type FontFile struct {
	io.ReaderAt
	Size int64
}

// fontFolder is the guest's file system: /usr/share/fonts/font.ttf.
type fontFolder struct{ font *FontFile }

const fontName = "font.ttf"

func (f fontFolder) Open(name string) (fs.File, error) {
	switch {
	case !fs.ValidPath(name):
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	case f.font != nil && name == "usr/share/fonts/"+fontName:
		return &fontHandle{SectionReader: io.NewSectionReader(f.font, 0, f.font.Size)}, nil
	}
	for path, child := range map[string]string{
		".": "usr", "usr": "share", "usr/share": "fonts",
		"usr/share/fonts": fontName,
	} {
		if name != path {
			continue
		}
		folder := &folderHandle{info: info{name: name, dir: true}}
		if f.font != nil {
			folder.children = []fs.DirEntry{fs.FileInfoToDirEntry(info{
				name: child, dir: child != fontName,
				size: f.font.Size,
			})}
		}
		return folder, nil
	}
	return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
}

// fontHandle is the open font file.
type fontHandle struct{ *io.SectionReader }

func (f *fontHandle) Stat() (fs.FileInfo, error) { return info{name: fontName, size: f.Size()}, nil }
func (f *fontHandle) Close() error               { return nil }

// folderHandle is an open folder.
type folderHandle struct {
	info     info
	children []fs.DirEntry
}

func (f *folderHandle) Stat() (fs.FileInfo, error) { return f.info, nil }
func (f *folderHandle) Close() error               { return nil }
func (f *folderHandle) Read([]byte) (int, error) {
	return 0, &fs.PathError{Op: "read", Path: f.info.name, Err: errors.New("is a directory")}
}

func (f *folderHandle) ReadDir(n int) ([]fs.DirEntry, error) {
	rest := f.children
	f.children = nil
	if len(rest) == 0 && n > 0 {
		return nil, io.EOF
	}
	return rest, nil
}

// info describes a file of the guest.
type info struct {
	name string
	size int64
	dir  bool
}

func (i info) Name() string       { return i.name }
func (i info) Size() int64        { return i.size }
func (i info) ModTime() time.Time { return time.Time{} }
func (i info) IsDir() bool        { return i.dir }
func (i info) Sys() any           { return nil }
func (i info) Mode() fs.FileMode {
	if i.dir {
		return fs.ModeDir | 0o555
	}
	return 0o444
}
