package extract

import (
	"bytes"
	"context"
	"errors"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/ooxml"
)

// maxOfficeText is the largest size of the text of an Office file, in bytes.
const maxOfficeText = 64 << 20

// officeKind describes one kind of Office file.
type officeKind struct {
	name      string // Display name.
	extension string
	folder    string // Directory of its parts.
	oleStream string // A stream that identifies the old binary format.
}

var officeKinds = map[kind]officeKind{
	docxFile: {"Word文書", ".docx", "word", "WordDocument"},
	xlsxFile: {"Excelブック", ".xlsx", "xl", "Workbook"},
	pptxFile: {"PowerPointプレゼンテーション", ".pptx", "ppt", "PowerPoint Document"},
}

const again = "もう一度アップロードしてください。"

// Reasons shown to people.
const (
	reasonOfficeCorrupt = "ファイルが壊れているため、読み取れませんでした。元のアプリで開けることを確認し、保存し直してから、" + again
	reasonOfficeLarge   = "ファイルの中身が大きすぎるため、読み取れませんでした。必要な部分だけを別のファイルに保存し、" + again
	reasonOfficeEmpty   = "ファイルに読み取れる文字がありません。文字が画像になっている場合は、文字を入力したファイルに直して、" + again
	reasonEncrypted     = "パスワードで保護されているため、読み取れませんでした。パスワードを解除して保存し直し、" + again
)

// OldOffice returns a text that helps the person if a file name has the extension of an old, unsupported Office format,
// and "" otherwise.
func OldOffice(filename string) string {
	switch extensionOf(filename) {
	case ".doc", ".dot":
		return oldOffice(docxFile)
	case ".xls", ".xlt":
		return oldOffice(xlsxFile)
	case ".ppt", ".pps", ".pot":
		return oldOffice(pptxFile)
	case ".xlsb":
		return "バイナリ形式のExcelブック（.xlsb）には対応していません。Excelで開き、「名前を付けて保存」で.xlsx形式にして、" + again
	}
	return ""
}

func oldOffice(k kind) string {
	app, _, _ := strings.Cut(officeKinds[k].name, "文書")
	app = strings.TrimSuffix(strings.TrimSuffix(app, "ブック"), "プレゼンテーション")
	return "古い形式の" + officeKinds[k].name + "には対応していません。" + app + "で開き、「名前を付けて保存」で" +
		officeKinds[k].extension + "形式にして、" + again
}

// officePages reads an Office file.
func officePages(ctx context.Context, k kind, content []byte) ([]Page, error) {
	pages, err := readOffice(ctx, k, content)
	if err != nil {
		return nil, officeError(err)
	}
	for i, page := range pages {
		if pages[i].Text = strings.Map(withoutControl, page.Text); len(pages[i].Text) != len(page.Text) {
			return nil, &fault.UnreadableError{Code: fault.FileCorrupt, Reason: reasonOfficeCorrupt} // Valid XML has no control characters.
		}
	}
	for _, page := range pages {
		if !blank(page.Text) {
			return pages, nil
		}
	}
	return nil, &fault.UnreadableError{Code: fault.FileNoText, Reason: reasonOfficeEmpty}
}

// officeError converts an error of ooxml to one with a reason. It returns other errors unchanged.
func officeError(err error) error {
	switch {
	case errors.Is(err, ooxml.ErrTooLarge):
		return &fault.UnreadableError{Code: fault.FileTooLarge, Reason: reasonOfficeLarge}
	case errors.Is(err, ooxml.ErrEncrypted):
		return &fault.UnreadableError{Code: fault.FileEncrypted, Reason: reasonEncrypted}
	case errors.Is(err, ooxml.ErrCorrupt):
		return &fault.UnreadableError{Code: fault.FileCorrupt, Reason: reasonOfficeCorrupt}
	}
	return err
}

func readOffice(ctx context.Context, k kind, content []byte) ([]Page, error) {
	if err := notZIP(k, content); err != nil {
		return nil, err
	}
	pkg, err := ooxml.Open(ctx, content)
	if err != nil {
		return nil, err
	}
	main, err := mainPart(pkg, k)
	if err != nil {
		return nil, err
	}
	switch k {
	case pptxFile:
		return pptxPages(pkg, main)
	case xlsxFile:
		return xlsxPages(pkg, main)
	default:
		text, err := docxText(pkg, main)
		return []Page{{Number: 1, Text: text, Marks: headingMarks(text)}}, err
	}
}

var oleMagic = []byte("\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1")

// notZIP returns nil for a ZIP archive, and otherwise an error that describes the actual format of the file.
func notZIP(k kind, content []byte) error {
	if bytes.HasPrefix(content, []byte("PK\x03\x04")) || bytes.HasPrefix(content, []byte("PK\x05\x06")) {
		return nil
	}
	if bytes.HasPrefix(content, oleMagic) {
		if bytes.Contains(content, utf16Name("EncryptedPackage")) {
			return &fault.UnreadableError{Code: fault.FileEncrypted, Reason: reasonEncrypted}
		}
		for _, old := range []kind{docxFile, xlsxFile, pptxFile} {
			if bytes.Contains(content, utf16Name(officeKinds[old].oleStream)) {
				return &fault.UnreadableError{Code: fault.FileUnsupported, Reason: oldOffice(old)}
			}
		}
		return &fault.UnreadableError{Code: fault.FileUnsupported, Reason: oldOffice(k)}
	}
	head := bytes.TrimLeft(bytes.TrimPrefix(content[:min(len(content), 1024)], []byte("\xEF\xBB\xBF")), " \t\r\n")
	is := ""
	switch lower := bytes.ToLower(head); {
	case len(head) == 0:
		return &fault.UnreadableError{Code: fault.FileNoText, Reason: reasonOfficeEmpty}
	case bytes.HasPrefix(head, []byte("%PDF-")):
		is = "PDF"
	case bytes.HasPrefix(head, []byte(`{\rtf`)):
		is = "リッチテキスト（RTF）"
	case bytes.HasPrefix(lower, []byte("<!doctype html")), bytes.HasPrefix(lower, []byte("<html")):
		is = "HTML"
	case bytes.HasPrefix(head, []byte("\x89PNG")), bytes.HasPrefix(head, []byte("\xFF\xD8\xFF")),
		bytes.HasPrefix(head, []byte("GIF8")):
		is = "画像"
	case bytes.HasPrefix(lower, []byte("<?xml")):
		is = "XML"
	case utf8.Valid(content) && bytes.IndexByte(content, 0) < 0:
		is = "テキスト"
	default:
		return nil
	}
	return mismatch(k, is)
}

// utf16Name returns a name in the encoding of an OLE directory.
func utf16Name(name string) []byte {
	out := make([]byte, 0, 2*len(name))
	for _, b := range []byte(name) {
		out = append(out, b, 0)
	}
	return out
}

func mismatch(k kind, is string) error {
	return &fault.UnreadableError{Code: fault.FileMismatch, Reason: "拡張子は" + officeKinds[k].name + "ですが、中身は" + is + "です。" +
		"正しい拡張子に直すか、" + officeKinds[k].extension + "形式で保存し直して、" + again}
}

// mainPart returns the name of the main part. It returns an error if the package is of another kind.
func mainPart(pkg *ooxml.Package, k kind) (string, error) {
	rels, err := pkg.Relationships("")
	if err != nil {
		return "", err
	}
	name := rels.Target("officeDocument")
	if name == "" {
		switch {
		case pkg.Has("mimetype"):
			return "", mismatch(k, "OpenDocument形式のファイル")
		case !pkg.Has("[Content_Types].xml") && !pkg.Has("_rels/.rels"):
			return "", mismatch(k, "ZIPファイル")
		}
		return "", ooxml.ErrNoPart
	}
	if strings.HasSuffix(name, ".bin") {
		return "", &fault.UnreadableError{Code: fault.FileUnsupported, Reason: OldOffice(".xlsb")}
	}
	folder, _, _ := strings.Cut(name, "/")
	for other, o := range officeKinds {
		if other != k && strings.EqualFold(folder, o.folder) {
			return "", mismatch(k, o.name)
		}
	}
	return name, nil
}

// textOf returns the text of the current element without control characters.
func textOf(x *ooxml.Walker) (string, error) {
	text, err := x.Text()
	return strings.Map(withoutControl, text), err
}

// alternate reads the first choice of mc:AlternateContent, or its fallback if the choice produces no text. made returns
// the amount of text so far.
func alternate(x *ooxml.Walker, made func() int, read func(ooxml.Element) error) error {
	before, chosen, apology := made(), false, false
	return x.Each(func(e ooxml.Element) error {
		if e.Local == "Choice" && !chosen || e.Local == "Fallback" && made() == before && !apology {
			chosen = true
			apology = hasApology.MatchString(e.Attr("Requires"))
			return x.Each(read)
		}
		return x.Skip()
	})
}

// hasApology matches the prefixes of features whose fallback only contains a message that a newer version is required:
// charts since 2016, slicers and timelines.
var hasApology = regexp.MustCompile(`\b(?:cx[0-9]*|sle[0-9]*|tsle)\b`)
