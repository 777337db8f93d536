package fault

// Codes of uploads, in addition to Invalid and TooLarge.
const (
	UnsupportedType Code = "unsupported_media_type" // The format is not supported.
	StorageFull     Code = "storage_full"           // The file does not fit into the storage.
	// The storage limit of the person or the organization is reached.
	StorageLimit Code = "storage_limit_reached"
)

// InvalidFile returns an error for an uploaded file. It names the field "file".
func InvalidFile(code Code, format string, args ...any) *Error {
	e := InvalidField("file", format, args...)
	e.Code = code
	return e
}

// EmptyFile returns the error for a file without content.
func EmptyFile() *Error { return InvalidFile(Invalid, "ファイルの中身がありません。") }

// OversizedFile returns the error for a file of more than limit bytes. The format contains %d for the limit in MiB.
func OversizedFile(format string, limit int64) *Error {
	return InvalidFile(TooLarge, format, limit>>20)
}

// FileCode is a machine-readable reason why an uploaded file cannot be read.
type FileCode string

// The reasons.
const (
	FileCorrupt     FileCode = "corrupt"     // Damaged, truncated or malicious.
	FileEncrypted   FileCode = "encrypted"   // Needs a password.
	FileMismatch    FileCode = "mismatch"    // Content and extension do not match.
	FileNoFont      FileCode = "no_font"     // Needs a font that is neither embedded nor installed.
	FileNoText      FileCode = "no_text"     // Empty, or only pictures.
	FileTooLarge    FileCode = "too_large"   // Exceeds a limit.
	FileUnsupported FileCode = "unsupported" // Unsupported format.
)

// UnreadableError is the error for an uploaded file that cannot be read. Reason is a Japanese text that helps the
// person.
type UnreadableError struct {
	Code   FileCode
	Reason string
}

func (e *UnreadableError) Error() string { return e.Reason }

// Refusal returns the error for the person who uploads the file.
func (e *UnreadableError) Refusal() *Error {
	code := Invalid
	switch e.Code {
	case FileTooLarge:
		code = TooLarge
	case FileUnsupported:
		code = UnsupportedType
	}
	return InvalidFile(code, "%s", e.Reason)
}
