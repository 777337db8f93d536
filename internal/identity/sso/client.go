package sso

import (
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/tsumugi-ai/tsumugi/internal/dial"
	"github.com/tsumugi-ai/tsumugi/internal/proxy"
)

const maxURL = 2048

// ClientConfig configures a Client.
type ClientConfig struct {
	Hosts         []string   // Host names and IP addresses of providers that may have addresses inside the network.
	Proxy         proxy.Func // Default: proxy.FromEnvironment.
	ProxyResolves bool       // See dial.Config.

	// Transport replaces the transport of requests to providers. Tests use it.
	Transport http.RoundTripper
}

// Client connects to identity providers. It is safe for concurrent use.
type Client struct {
	hosts     []string
	transport http.RoundTripper
}

// NewClient returns a Client.
func NewClient(cfg ClientConfig) *Client {
	if cfg.Transport == nil {
		cfg.Transport = dial.NewTransport(cfg.Hosts, cfg.Proxy, cfg.ProxyResolves)
	}
	return &Client{hosts: cfg.Hosts, transport: cfg.Transport}
}

// Transport returns the transport of requests to providers. It refuses addresses inside the network, except for listed
// hosts, with dial.ErrForbidden.
func (c *Client) Transport() http.RoundTripper { return c.transport }

// listed reports whether the operator permits addresses inside the network for a host.
func (c *Client) listed(host string) bool { return slices.Contains(c.hosts, strings.ToLower(host)) }

// CheckURL rejects an address of a provider that is not https, or that is inside the network and not listed. Without
// TLS, only listed servers on this machine are accepted. name is the name of the address in Japanese.
func (c *Client) CheckURL(name, address string) error {
	u, err := url.Parse(address)
	if err != nil || len(address) > maxURL || u.Hostname() == "" || u.User != nil || u.Fragment != "" ||
		strings.ContainsFunc(address, func(r rune) bool { return r <= ' ' || r >= 0x7f || r == '\\' }) {
		return Reject("an address is malformed", name+"のURLの形式が正しくありません。")
	}
	listed := c.listed(u.Hostname())
	if !listed && dial.Internal(u, nil) {
		return ErrInside(name)
	}
	if ip := net.ParseIP(u.Hostname()); u.Scheme == "https" ||
		u.Scheme == "http" && listed && (u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()) {
		return nil
	}
	return Reject("an address is not https", name+"のURLは、https:// で始まる必要があります。")
}

// ErrInside rejects an address inside the network. name is the name of the address in Japanese.
func ErrInside(name string) *Rejection {
	return Reject("an address inside the network that is not listed", name+
		"のアドレスは、内部のネットワークのものです。使用するには、サーバーの運用担当者に、設定TSUMUGI_IDENTITY_HOSTSへのホスト名の追加を依頼してください。")
}
