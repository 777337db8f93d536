package extract_test

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/tsumugi-ai/tsumugi/internal/datasource/extract"
	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/ooxml"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

const (
	relationsSpace = "http://schemas.openxmlformats.org/package/2006/relationships"
	officeSpace    = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
	wordSpaces     = `xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"
 xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"
 xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"
 xmlns:wps="http://schemas.microsoft.com/office/word/2010/wordprocessingShape" xmlns:v="urn:schemas-microsoft-com:vml"
 xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math"
 xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"
 xmlns:wp="http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing"
 xmlns:c="http://schemas.openxmlformats.org/drawingml/2006/chart"
 xmlns:dgm="http://schemas.openxmlformats.org/drawingml/2006/diagram"`
)

// archive returns a ZIP archive. parts are alternating names and contents.
func archive(t testing.TB, parts ...string) []byte {
	t.Helper()
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	for i := 0; i < len(parts); i += 2 {
		method := zip.Store // A compressor allocates a megabyte, which slows fuzzing down.
		if len(parts[i+1]) > 32<<10 {
			method = zip.Deflate
		}
		w, err := z.CreateHeader(&zip.FileHeader{Name: parts[i], Method: method})
		if err == nil {
			_, err = io.WriteString(w, parts[i+1])
		}
		must.Succeed(t, err)
	}
	must.Succeed(t, z.Close())
	return out.Bytes()
}

// relations returns a relationships part. of are triples of id, kind and target.
func relations(of ...string) string {
	var out strings.Builder
	fmt.Fprintf(&out, `<?xml version="1.0" encoding="UTF-8"?><Relationships xmlns=%q>`, relationsSpace)
	for i := 0; i < len(of); i += 3 {
		fmt.Fprintf(&out, `<Relationship Id=%q Type="%s/%s" Target=%q/>`, of[i], officeSpace, of[i+1], of[i+2])
	}
	return out.String() + "</Relationships>"
}

// document returns a Word document with a body and additional parts.
func document(t testing.TB, body string, parts ...string) []byte {
	t.Helper()
	return archive(t, append([]string{
		"_rels/.rels", relations("rId1", "officeDocument", "word/document.xml"),
		"word/document.xml", "<w:document " + wordSpaces + "><w:body>" + body + "</w:body></w:document>",
	}, parts...)...)
}

func TestOldOfficeReturnsAdvice(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"a.doc": "Wordで開き、「名前を付けて保存」で.docx", "a.XLS": "Excelで開き、「名前を付けて保存」で.xlsx",
		"a.pps": "PowerPointで開き、「名前を付けて保存」で.pptx", "a.xlsb": "Excelで開き",
	} {
		if got := extract.OldOffice(name); !strings.Contains(got, want) ||
			!strings.HasSuffix(got, "もう一度アップロードしてください。") {
			t.Errorf("%s: %q, want one with %q", name, got, want)
		}
	}
	for _, name := range []string{"a.docx", "a.pdf", "doc", ""} {
		if got := extract.OldOffice(name); got != "" {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// utf16Text returns a text in little-endian UTF-16 without byte order mark.
func utf16Text(s string) string {
	out, _ := binary.Append(nil, binary.LittleEndian, utf16.Encode([]rune(s)))
	return string(out)
}

func TestRefusedOfficeFiles(t *testing.T) {
	t.Parallel()
	const ole = "\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1"
	whole := document(t, `<w:p><w:r><w:t>`+strings.Repeat("本文", 2000)+`</w:t></w:r></w:p>`)
	locked := bytes.Clone(whole)
	locked[bytes.Index(locked, []byte("PK\x01\x02"))+8] |= 1
	sheet := archive(t, "_rels/.rels", relations("rId1", "officeDocument", "xl/workbook.xml"), "xl/workbook.xml",
		"<workbook/>")
	tests := []struct {
		name    string
		content []byte
		code    fault.FileCode
		want    string
	}{
		{
			"encrypted", []byte(ole + strings.Repeat("\x00", 600) + utf16Text("EncryptedPackage")), fault.FileEncrypted,
			"パスワード",
		},
		{"encrypted entry", locked, fault.FileEncrypted, "パスワード"},
		{
			"Word 97", []byte(ole + strings.Repeat("\x00", 600) + utf16Text("WordDocument")), fault.FileUnsupported,
			"Wordで開き",
		},
		{
			"Excel 97", []byte(ole + strings.Repeat("\x00", 600) + utf16Text("Workbook")), fault.FileUnsupported,
			"Excelで開き",
		},
		{"cut off", whole[:len(whole)-100], fault.FileCorrupt, "壊れている"},
		{"nothing", []byte("PK\x05\x06"), fault.FileCorrupt, "壊れている"},
		{"noise", []byte("\x00\x01\x02\xff\xfe"), fault.FileCorrupt, "壊れている"},
		{
			"no main part", archive(t, "_rels/.rels", relations("rId1", "officeDocument", "word/a.xml")),
			fault.FileCorrupt,
			"壊れている",
		},
		{"half a document", archive(t, "_rels/.rels", relations("rId1", "officeDocument", "d.xml"), "d.xml",
			"<d><p>底</p>"), fault.FileCorrupt, "壊れている"},
		{"Excel", sheet, fault.FileMismatch, "中身はExcelブックです"},
		{
			"OpenDocument", archive(t, "mimetype", "application/vnd.oasis.opendocument.text", "content.xml", "<a/>"),
			fault.FileMismatch, "OpenDocument",
		},
		{"ZIP", archive(t, "a.txt", "底"), fault.FileMismatch, "中身はZIPファイルです"},
		{"PDF", []byte("%PDF-1.7\n\x00"), fault.FileMismatch, "中身はPDFです"},
		{"HTML", []byte("\n<HTML><body>底"), fault.FileMismatch, "中身はHTMLです"},
		{"RTF", []byte(`{\rtf1 a}`), fault.FileMismatch, "RTF"},
		{"picture", []byte("\x89PNG\r\n\x1a\n\x00"), fault.FileMismatch, "中身は画像です"},
		{"text", []byte("議事録"), fault.FileMismatch, "中身はテキストです"},
		{"empty", nil, fault.FileNoText, "文字がありません"},
		{"no text", document(t, "<w:p/>"), fault.FileNoText, "文字がありません"},
		{"depth", document(t, strings.Repeat("<w:sdt><w:sdtContent>", 5000)+strings.Repeat("</w:sdtContent></w:sdt>",
			5000)), fault.FileTooLarge, "大きすぎる"},
	}
	for _, test := range tests {
		got := unreadable(t, "a.docx", test.content)
		if got.Code != test.code || !strings.Contains(got.Reason, test.want) ||
			!strings.HasSuffix(got.Reason, "アップロードしてください。") {
			t.Errorf("%s: %+v, want %s and a reason about %q", test.name, got, test.code, test.want)
		}
	}
}

// TestR66_OfficeBombs measures allocations and therefore is not parallel.
func TestR66_OfficeBombs(t *testing.T) {
	wide := strings.Repeat(`<w:tc><w:tcPr><w:gridSpan w:val="60000"/></w:tcPr><w:p/></w:tc>`, 500)
	for name, content := range map[string][]byte{
		"cells": document(t,
			"<w:tbl>"+strings.Repeat("<w:tr>"+strings.Repeat("<w:tc/>", 1001)+"</w:tr>", 500)+"</w:tbl>"),
		"spans": document(t, "<w:tbl>"+strings.Repeat("<w:tr>"+wide+"</w:tr>",
			100)+"</w:tbl><w:p><w:r><w:t>底</w:t></w:r></w:p>"),
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		began := time.Now()
		_, err := formatOf(t, "a.docx").Pages(t.Context(), content)
		took := time.Since(began)
		runtime.ReadMemStats(&after)
		if n := (after.TotalAlloc - before.TotalAlloc) >> 20; n > 1500 || took > 10*time.Second {
			t.Errorf("%s: %d MiB allocated in %v", name, n, took)
		}
		t.Logf("%s: %d bytes, %d MiB allocated in %v, %v", name, len(content), (after.TotalAlloc-before.TotalAlloc)>>20,
			took, err)
		if name != "spans" && err == nil {
			t.Errorf("%s: read", name)
		}
	}
}

// replacePart returns a file with a new content for a part, nil if the part does not exist.
func replacePart(t testing.TB, file []byte, name, content string) []byte {
	t.Helper()
	pkg, err := ooxml.Open(t.Context(), file)
	must.Succeed(t, err)
	if !pkg.Has(name) {
		return nil
	}
	pkg.Replace(name, []byte(content))
	if file, err = pkg.Bytes(); err != nil {
		t.Fatal(err)
	}
	return file
}
