package main

import (
	"crypto/x509"
	"fmt"
	"os"
	"sync"

	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// setRoots guards x509.SetFallbackRoots, which panics at a second call. Tests run several commands in one process.
var setRoots sync.Once

// trust sets the certificate authorities of all TLS connections of this process: those of the system, or the bundled
// ones on a system that has none, such as the slim image. caFile names a file with additional ones, or is empty.
//
// The pool is that of the process, because net/http, the SDKs of AWS, Azure and Google, pgx, NATS, OpenTelemetry and
// SMTP all use it by default, and not all of them accept another pool. The environment variables SSL_CERT_FILE and
// SSL_CERT_DIR are unsuitable: they replace the system's authorities, disable the bundled ones, and apply to Unix
// systems only.
func trust(caFile string) error {
	if caFile == "" {
		setRoots.Do(func() { x509.SetFallbackRoots(bundledRoots()) })
		return nil
	}
	additional, err := os.ReadFile(caFile) //nolint:gosec // The operator names the file.
	if err != nil {
		return fmt.Errorf("--ca-file (TSUMUGI_CA_FILE): %w", err)
	}
	pool, err := x509.SystemCertPool()
	if err != nil || pool.Equal(x509.NewCertPool()) {
		pool = bundledRoots()
	}
	if !pool.AppendCertsFromPEM(additional) {
		return fmt.Errorf("--ca-file (TSUMUGI_CA_FILE): %s contains no certificate in the format PEM", caFile)
	}
	setRoots.Do(func() {
		// With this setting, the pool replaces the system's pool, which it contains.
		err = os.Setenv("GODEBUG", os.Getenv("GODEBUG")+",x509usefallbackroots=1")
		x509.SetFallbackRoots(pool)
	})
	return err
}

// bundledRoots returns the certificate authorities of Mozilla, as the package fallback does, which must not be imported
// because it calls x509.SetFallbackRoots itself.
func bundledRoots() *x509.CertPool {
	pool := x509.NewCertPool()
	for root := range bundle.Roots() {
		certificate, err := x509.ParseCertificate(root.Certificate)
		if err != nil {
			panic(err)
		}
		if root.Constraint == nil {
			pool.AddCert(certificate)
		} else {
			pool.AddCertWithConstraint(certificate, root.Constraint)
		}
	}
	return pool
}
