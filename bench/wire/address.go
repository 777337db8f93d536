package wire

import (
	"fmt"
	"net/http"
	"net/url"
	"time"
)

// Address returns the host and port of a server that is reached by plain HTTP.
func Address(server string) (string, error) {
	u, err := url.Parse(server)
	if err != nil || u.Scheme != "http" || u.Host == "" || (u.Path != "" && u.Path != "/") {
		return "", fmt.Errorf("%q is no URL such as http://127.0.0.1:8080", server)
	}
	if u.Port() == "" {
		return u.Host + ":80", nil
	}
	return u.Host, nil
}

// Caller returns a client for all requests except streams. It reuses its connections.
func Caller() *http.Client {
	return &http.Client{Timeout: time.Minute, Transport: &http.Transport{
		MaxIdleConns: 64, MaxIdleConnsPerHost: 64, DisableCompression: true,
	}}
}
