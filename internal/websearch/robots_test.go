package websearch_test

import (
	"strings"
	"testing"

	"github.com/tsumugi-ai/tsumugi/internal/websearch"
)

func TestRobots(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text            string
		allowed, denied []string
	}{
		"nothing": {"", []string{"/", "/a"}, nil},
		"all":     {"User-agent: *\nDisallow: /private/\n", []string{"/", "/private", "/Private/a"}, []string{"/private/a"}},
		"this robot before all": {
			"User-agent: *\nDisallow: /\n\nUser-agent: tsumugibot/2\nDisallow: /b\n", []string{"/", "/a"}, []string{"/b"},
		},
		"another robot": {"User-agent: Tsumugi\nDisallow: /\nUser-agent: other\nDisallow: /\n", []string{"/"}, nil},
		"groups of some": {
			"user-agent: other\nUSER-AGENT: TsumugiBot # ours\nDisallow: /a # not this\n\nuser-agent: x\nDisallow: /\n",
			[]string{"/b"},
			[]string{"/a", "/ab"},
		},
		"nothing for this robot": {"User-agent: *\nDisallow: /\nUser-agent: TsumugiBot\nDisallow:\n", []string{"/a"}, nil},
		"two groups of one":      {"User-agent: *\nDisallow: /a\nUser-agent: *\nDisallow: /b", []string{"/c"}, []string{"/a", "/b"}},
		"the longest rule":       {"User-agent: *\nDisallow: /\nAllow: /open/\n", []string{"/open/a"}, []string{"/a"}},
		"equal rules":            {"User-agent: *\nDisallow: /a\nAllow: /a\n", []string{"/a"}, nil},
		"wildcards": {
			"User-agent: *\nDisallow: /*.pdf$\nDisallow: /a*b*c\nDisallow: /*?s=\n",
			[]string{"/x.pdf.html", "/ab", "/?p=1"},
			[]string{"/x.pdf", "/axxbyyc/d", "/x?s=1"},
		},
		"spellings": {
			"User-agent: *\nDisallow: /規程/\nDisallow: /%7euser\nDisallow: /a%2fb\n",
			[]string{"/a/b"},
			[]string{"/%E8%A6%8F%E7%A8%8B/1", "/~user/x", "/a%2Fb"},
		},
		"carriage returns": {"User-agent: *\rDisallow: /a\r\nDisallow: /b", []string{"/c"}, []string{"/a", "/b"}},
		"no group":         {"Disallow: /\n", []string{"/"}, nil},
	} {
		rules := websearch.ParseRobots(c.text)
		for _, path := range c.allowed {
			if !rules.Allow(path) {
				t.Errorf("%s: %s is refused", name, path)
			}
		}
		for _, path := range c.denied {
			if rules.Allow(path) {
				t.Errorf("%s: %s is allowed", name, path)
			}
		}
	}
}

func FuzzRobots(f *testing.F) {
	f.Add("User-agent: *\nDisallow: /a*b$\nAllow: /%e3%81\n", "/a/b?c=%zz")
	f.Add("User-agent: TsumugiBot\nDisallow: "+strings.Repeat("*a", 100), "/"+strings.Repeat("a", 500))
	f.Fuzz(func(t *testing.T, text, path string) {
		if text == "" && !websearch.ParseRobots(text).Allow(path) {
			t.Error("no rules refuse")
		}
		websearch.ParseRobots(text).Allow(path)
	})
}
