package system_test

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"hash/crc32"
	"testing"

	"github.com/tsumugi-ai/tsumugi/test/must"
)

// blackPNG returns a black square PNG. side is its width in pixels.
func blackPNG(t *testing.T, side int) []byte {
	t.Helper()
	var out, data bytes.Buffer
	chunk := func(kind string, content []byte) {
		_ = binary.Write(&out, binary.BigEndian, uint32(len(content))) //nolint:gosec // A few bytes.
		named := append([]byte(kind), content...)
		out.Write(named)
		_ = binary.Write(&out, binary.BigEndian, crc32.ChecksumIEEE(named))
	}
	z := must.Get(zlib.NewWriterLevel(&data, zlib.BestSpeed))(t)
	row := make([]byte, 1+3*side)
	for range side {
		must.Get(z.Write(row))(t)
	}
	must.Succeed(t, z.Close())
	out.WriteString("\x89PNG\r\n\x1A\n")
	head := binary.BigEndian.AppendUint32(nil, uint32(side)) //nolint:gosec // As the next.
	head = binary.BigEndian.AppendUint32(head, uint32(side)) //nolint:gosec // A few thousand.
	chunk("IHDR", append(head, 8, 2, 0, 0, 0))
	chunk("IDAT", data.Bytes())
	chunk("IEND", nil)
	return out.Bytes()
}

// TestLargePictureFitsItsReader: a child process reads almost 50 million pixels within its memory limit.
func TestLargePictureFitsItsReader(t *testing.T) {
	t.Parallel()
	s := newSingle(t)
	var picture struct{ Width, Height int }
	err := s.send(t.Context(), s.url()+"/v1/picture", "a.png", blackPNG(t, 7000), &picture)
	if err != nil || picture.Width != 2048 || picture.Height != 2048 {
		t.Errorf("%+v, %v", picture, err)
	}
}
