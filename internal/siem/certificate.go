package siem

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"time"
)

// ClientCertificate is the certificate that sinks present to receivers that require one. The files are in the format PEM.
// They are read for each connection, so that a renewed certificate is used without a restart.
type ClientCertificate struct{ CertificateFile, KeyFile string }

// Read reads the certificate. It returns an error if a file cannot be read, or if the key is not that of the certificate.
func (c *ClientCertificate) Read() (tls.Certificate, error) {
	certificate, err := tls.LoadX509KeyPair(c.CertificateFile, c.KeyFile)
	if err != nil {
		err = fmt.Errorf("client certificate: %w", err)
	}
	return certificate, err
}

// End returns the time until which the certificate is valid. For nil, it is the zero time.
func (c *ClientCertificate) End() (end time.Time, _ error) {
	if c == nil {
		return end, nil
	}
	certificate, err := c.Read()
	if err != nil {
		return end, err
	}
	return certificate.Leaf.NotAfter, nil
}

// clientTLS returns the configuration of connections to a receiver. requested is called if the receiver requests a
// certificate. Without one, certificate is nil.
func clientTLS(roots *x509.CertPool, certificate *ClientCertificate, requested func()) *tls.Config {
	return &tls.Config{
		RootCAs: roots, MinVersion: tls.VersionTLS12,
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			requested()
			if certificate == nil {
				return &tls.Certificate{}, nil
			}
			read, err := certificate.Read()
			if err == nil && time.Now().After(read.Leaf.NotAfter) {
				err = fmt.Errorf("client certificate: expired on %s", read.Leaf.NotAfter.UTC().Format(time.DateOnly))
			}
			return &read, err
		},
	}
}

// refusalTime is the time that a receiver has to refuse a certificate after the handshake.
const refusalTime = time.Second

// checkAccepted returns an error if the receiver of a new connection refuses its certificate. With TLS 1.3, receivers do
// so after the handshake. They send nothing else.
func checkAccepted(conn *tls.Conn) error {
	err := conn.SetReadDeadline(time.Now().Add(refusalTime))
	if err == nil {
		_, err = conn.Read(make([]byte, 1))
	}
	if err != nil && !isTimeout(err) {
		return fmt.Errorf("after the handshake: %w", err)
	}
	return conn.SetReadDeadline(time.Time{})
}

// withAdvice adds the remedy to the error of a certificate. requested reports whether the receiver requested a client
// certificate: the errors of refused ones differ, and some are those of broken connections.
func withAdvice(err error, requested bool) error {
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		return fmt.Errorf("%w; add the authority to TSUMUGI_CA_FILE", err)
	}
	if requested && !isTimeout(err) {
		return fmt.Errorf("%w; the receiver requests a client certificate, check TSUMUGI_AUDIT_CERT_FILE", err)
	}
	return err
}

func isTimeout(err error) bool {
	timeout, ok := errors.AsType[net.Error](err)
	return ok && timeout.Timeout()
}
