package main

import (
	"context"
	"net"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/tsumugi-ai/tsumugi/internal/doctor"
)

// proxyVariables are the variables with the URL of a proxy.
var proxyVariables = []string{"HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy"}

// proxySchemes are the schemes of proxies that net/http supports.
var proxySchemes = []string{"http", "https", "socks5", "socks5h"}

// checkProxy checks the environment variables that net/http uses.
func (e *examination) checkProxy(context.Context) doctor.Result {
	var used, invalid []string
	for _, name := range proxyVariables {
		value, _ := e.env.lookup(name)
		if value == "" {
			continue
		}
		if !strings.Contains(value, "://") {
			value = "http://" + value
		}
		u, err := url.Parse(value)
		if err != nil || u.Hostname() == "" || !slices.Contains(proxySchemes, u.Scheme) {
			invalid = append(invalid, name)
			continue
		}
		used = append(used, name+"="+u.Host)
	}
	for _, name := range []string{"NO_PROXY", "no_proxy"} {
		value, _ := e.env.lookup(name)
		for entry := range strings.SplitSeq(value, ",") {
			_, _, err := net.ParseCIDR(strings.TrimSpace(entry))
			if strings.Contains(entry, "/") && err != nil && !slices.Contains(invalid, name) {
				invalid = append(invalid, name)
			}
		}
	}
	switch {
	case len(invalid) > 0:
		return doctor.Found("値が正しくありません：%s", "invalid: %s", strings.Join(invalid, ", ")).Fail(
			"プロキシはhttp://ホスト:ポート、NO_PROXYはドメイン、IPアドレス、CIDRをカンマ区切りで指定してください。",
			"A proxy has the form http://host:port, NO_PROXY is a list of domains, IP addresses and CIDR networks.")
	case len(used) == 0:
		return doctor.NotConfigured()
	}
	r := doctor.Found("%s", "%s", strings.Join(used, ", "))
	if e.ProxyResolves {
		r = r.Warn("ウェブページのホスト名をこのサーバーでは確認しません。プロキシで内部のアドレスへの接続を拒否してください。"+
			"外部のホスト名をこのサーバーで解決できる場合は、TSUMUGI_PROXY_RESOLVESを外してください。",
			"This server does not check the addresses of web pages: make the proxy refuse internal addresses, or remove "+
				"TSUMUGI_PROXY_RESOLVES if this server can resolve external names.")
	}
	return r
}

// checkNames resolves the host names of the configuration.
func (e *examination) checkNames(ctx context.Context) doctor.Result {
	proxied := slices.ContainsFunc(proxyVariables, func(name string) bool {
		value, _ := e.env.lookup(name)
		return value != ""
	})
	hosts := e.hosts()
	failed := make([]bool, len(hosts))
	var running sync.WaitGroup
	for i, host := range hosts {
		running.Go(func() {
			_, err := net.DefaultResolver.LookupHost(ctx, host)
			failed[i] = err != nil
		})
	}
	running.Wait()
	var missing []string
	for i, host := range hosts {
		if failed[i] {
			missing = append(missing, host)
		}
	}
	switch {
	case len(hosts) == 0:
		return doctor.Found("設定にホスト名はありません。", "the configuration names no hosts")
	case len(missing) == 0:
		return doctor.Found("%d件のホスト名を解決できました。", "resolved %d host names", len(hosts))
	}
	r := doctor.Found("解決できません：%s", "cannot be resolved: %s", strings.Join(missing, ", "))
	if proxied || len(missing) == 1 && missing[0] == hostOf(e.PublicURL) {
		return r.Warn("プロキシや利用者のネットワークで解決できる名前であれば、問題ありません。",
			"This is no problem if the proxy, or the network of the users, resolves them.")
	}
	return r.Fail("ホスト名の綴りと、このマシンのDNSの設定を確認してください。", "Check their spelling, and the DNS settings of this machine.")
}

// hosts returns the host names in the configuration, without IP addresses.
func (e *examination) hosts() []string {
	var all []string
	for _, address := range e.addresses() {
		all = append(all, hostOf(address))
	}
	all = slices.DeleteFunc(all, func(host string) bool { return host == "" || net.ParseIP(host) != nil })
	slices.Sort(all)
	return slices.Compact(all)
}

// hostOf returns the host of a URL without its port, or "".
func hostOf(address string) string {
	u, err := url.Parse(strings.TrimSpace(address))
	if err != nil {
		return ""
	}
	return u.Hostname()
}
