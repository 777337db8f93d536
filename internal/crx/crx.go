package crx

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/binary"
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
)

// Field numbers of the header messages of a CRX3 file, from Chromium's components/crx_file/crx3.proto.
const (
	fieldSHA256WithRSA = 2     // CrxFileHeader: AsymmetricKeyProof.
	fieldSignedData    = 10000 // CrxFileHeader: SignedData.
	fieldPublicKey     = 1     // AsymmetricKeyProof.
	fieldSignature     = 2     // AsymmetricKeyProof.
	fieldCRXID         = 1     // SignedData.
)

// idBytes is the number of hash bytes that identify an extension.
const idBytes = 16

// pack returns a CRX3 file: a header signed with the key, followed by a ZIP archive.
func pack(key *rsa.PrivateKey, archive []byte) ([]byte, error) {
	public, err := publicKey(key)
	if err != nil {
		return nil, err
	}
	id := sha256.Sum256(public)
	signed := appendBytes(nil, fieldCRXID, id[:idBytes])

	hash := sha256.New()
	hash.Write([]byte("CRX3 SignedData\x00"))
	hash.Write(binary.LittleEndian.AppendUint32(nil, uint32(len(signed)))) //nolint:gosec // A few bytes.
	hash.Write(signed)
	hash.Write(archive)
	signature, err := rsa.SignPKCS1v15(rand.Reader, key, crypto.SHA256, hash.Sum(nil))
	if err != nil {
		return nil, fmt.Errorf("crx: %w", err)
	}

	proof := appendBytes(appendBytes(nil, fieldPublicKey, public), fieldSignature, signature)
	header := appendBytes(appendBytes(nil, fieldSHA256WithRSA, proof), fieldSignedData, signed)
	file := make([]byte, 0, 12+len(header)+len(archive))
	file = append(file, "Cr24"...)
	file = binary.LittleEndian.AppendUint32(file, 3)
	file = binary.LittleEndian.AppendUint32(file, uint32(len(header))) //nolint:gosec // About a kilobyte.
	return append(append(file, header...), archive...), nil
}

// appendBytes appends a field of a protocol buffer message.
func appendBytes(b []byte, field protowire.Number, value []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, field, protowire.BytesType), value)
}

// publicKey returns the public key in the encoding that Chromium hashes and that manifests contain.
func publicKey(key *rsa.PrivateKey) ([]byte, error) {
	public, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		return nil, fmt.Errorf("crx: %w", err)
	}
	return public, nil
}

// extensionID returns Chromium's id of an extension: the hash of its public key in letters from a to p.
func extensionID(public []byte) string {
	hash := sha256.Sum256(public)
	id := make([]byte, 0, 2*idBytes)
	for _, b := range hash[:idBytes] {
		id = append(id, 'a'+b>>4, 'a'+b&0xf)
	}
	return string(id)
}
