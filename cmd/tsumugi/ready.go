package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

// readyCommand is the health check of a container, whose image has no other program.
type readyCommand struct {
	Listen string `env:"TSUMUGI_LISTEN" default:"127.0.0.1:8080" help:"Address and port of the server."`
}

const (
	readyTimeout = 3 * time.Second
	maxReadyBody = 1 << 10 // In bytes.
)

// Run returns an error unless the server is ready to serve requests.
func (c *readyCommand) Run(ctx context.Context) error {
	host, port, err := net.SplitHostPort(c.Listen)
	if err != nil {
		return fmt.Errorf("--listen (TSUMUGI_LISTEN): %w", err)
	}
	if ip := net.ParseIP(host); host == "" || ip.IsUnspecified() {
		host = "localhost"
	}
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+net.JoinHostPort(host, port)+"/readyz", nil)
	if err != nil {
		return err
	}
	// Not the default transport, which would use the proxy of HTTP_PROXY.
	response, err := (&http.Client{Transport: new(http.Transport)}).Do(request) //nolint:gosec // The operator's address.
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode == http.StatusOK {
		return nil
	}
	body, _ := io.ReadAll(io.LimitReader(response.Body, maxReadyBody)) // The body is part of the error only.
	return fmt.Errorf("the server is not ready: %s: %s", response.Status, strings.TrimSpace(string(body)))
}
