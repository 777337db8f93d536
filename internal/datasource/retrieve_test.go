package datasource_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/tsumugi-ai/tsumugi/internal/datasource"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
)

// read uploads files and waits until they are read.
func (f *fixture) read(owner identity.Owner, files ...[2]string) (ids []uuid.UUID) {
	f.t.Helper()
	for _, file := range files {
		source, _ := f.upload(owner, file[0], file[1])
		told := f.ended(source)
		if last := told[len(told)-1]; last.Status != datasource.Success {
			f.t.Fatalf("%s: %+v", file[0], last)
		}
		ids = append(ids, source.ID)
	}
	return ids
}

func (f *fixture) retrieve(s *datasource.Service, owner identity.Owner, ids []uuid.UUID,
	query string,
) []datasource.RetrievedPassage {
	f.t.Helper()
	found, err := s.Retrieve(f.t.Context(), owner, ids, query, 3)
	f.must(err)
	return found
}

// rules returns office rules of three articles. Each article is a separate passage.
func rules(name string, days int) string {
	rest := strings.Repeat("この規程に定めのない事項は別に定める。", 10)
	return fmt.Sprintf("# %s\n\n第1条（目的） %sの目的を定める。%s\n第2条（休暇） 年次有給休暇は%d日とする。%s\n第3条（申請） 三日前までに上長に申請する。%s\n",
		name, name, rest, days, rest, rest)
}

func TestRetrieve(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.start(f.Service)
	ids := f.read(f.ann, [2]string{"就業規則.md", rules("就業規則", 20)}, [2]string{"パート規程.md", rules("パート規程", 10)})

	found := f.retrieve(f.Service, f.ann, ids, "パートの年次有給休暇は何日か")
	if len(found) != 3 || found[0].SourceID != ids[1] || !strings.Contains(found[0].Text, "年次有給休暇は10日") {
		t.Fatalf("found %+v", found)
	}
	best := found[0]
	if best.Filename != "パート規程.md" || best.Page != 1 || best.Locator != "パート規程 > 第2条（休暇）" || best.Ordinal != 1 ||
		best.Score <= found[1].Score {
		t.Errorf("the best is %+v", best)
	}
	if best.Before == nil || best.After == nil || best.Before.Ordinal != 0 ||
		!strings.Contains(best.After.Text, "三日前") {
		t.Errorf("neighbours %+v and %+v", best.Before, best.After)
	}
	passage, err := f.FindPassage(t.Context(), f.ann, best.ID)
	if err != nil || passage.Passage != best.Passage || passage.Model != "" {
		t.Errorf("%v, %+v", err, passage)
	}
	if one := f.retrieve(f.Service, f.ann, ids[:1], "パートの年次有給休暇は何日か"); len(one) == 0 || one[0].SourceID != ids[0] {
		t.Errorf("of one data source: %+v", one)
	}
	if none := f.retrieve(f.Service, f.ann, ids, "？"); len(none) != 0 {
		t.Errorf("a query without words found %+v", none)
	}
	if _, err := f.Retrieve(t.Context(), f.ann, make([]uuid.UUID, 21), "休暇", 3); err == nil {
		t.Error("21 data sources are searched")
	}
}

// TestR59_NothingIsFoundForOthers also verifies that a cached index is not used for another person, or after its
// deletion on another server.
func TestR59_NothingIsFoundForOthers(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.start(f.Service)
	ids := f.read(f.ann, [2]string{"就業規則.md", rules("就業規則", 20)})
	other := f.service(f.db)
	for range 2 {
		if found := f.retrieve(f.Service, f.ann, ids, "休暇"); len(found) == 0 {
			t.Fatalf("found %+v", found)
		}
		if found := f.retrieve(f.Service, f.bob, ids, "休暇"); len(found) != 0 {
			t.Errorf("somebody else finds %+v", found)
		}
	}
	passage := f.retrieve(other, f.ann, ids, "休暇")[0]
	if _, err := f.FindPassage(t.Context(), f.bob, passage.ID); err == nil {
		t.Error("somebody else gets a passage")
	}
	f.must(other.Delete(t.Context(), f.ann, ids[0]))
	if found := f.retrieve(f.Service, f.ann, ids, "休暇"); len(found) != 0 {
		t.Errorf("found in a deleted data source: %+v", found)
	}
}

// TestIndexOfAnotherVersionIsRebuilt verifies that an older index is replaced, and that a newer one is rebuilt for each
// use.
func TestIndexOfAnotherVersionIsRebuilt(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.start(f.Service)
	ids := f.read(f.ann, [2]string{"就業規則.md", rules("就業規則", 20)})
	want := f.retrieve(f.Service, f.ann, ids, "年次有給休暇")
	for version, kept := range map[int]int{0: 1, 99: 99} {
		f.exec(`UPDATE data_source_indexes SET version = $1, head = 'x'`, version)
		f.exec(`DELETE FROM data_source_index_parts`)
		found := f.retrieve(f.service(f.db), f.ann, ids, "年次有給休暇")
		if len(found) != len(want) || found[0].ID != want[0].ID || found[0].Score != want[0].Score {
			t.Errorf("version %d: found %+v", version, found)
		}
		if now := f.version(); now != kept {
			t.Errorf("version %d has become %d", version, now)
		}
	}
}

// TestSmallCacheDoesNotChangeResults verifies that concurrent searches with a small cache have the same results.
func TestSmallCacheDoesNotChangeResults(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.start(f.Service)
	ids := f.read(f.ann, [2]string{"就業規則.md", rules("就業規則", 20)}, [2]string{"パート規程.md", rules("パート規程", 10)})
	small := f.serviceWith(f.db, datasource.Config{Cache: 700})
	var searches sync.WaitGroup
	for range 4 {
		searches.Go(func() {
			for _, query := range []string{"目的", "年次有給休暇", "申請", "パート規程"} {
				a, errA := f.Retrieve(t.Context(), f.ann, ids, query, 4)
				b, errB := small.Retrieve(t.Context(), f.ann, ids, query, 4)
				if errA != nil || errB != nil || len(a) == 0 || len(a) != len(b) || a[0].ID != b[0].ID ||
					a[0].Score != b[0].Score {
					t.Errorf("%v, %v, %+v, %+v", errA, errB, a, b)
				}
			}
		})
	}
	searches.Wait()
}

func TestListSearchesNamesAndContents(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.start(f.Service)
	f.read(f.ann, [2]string{"就業規則.md", rules("就業規則", 20)}, [2]string{"会議.txt", "東京で京都の話をした。"},
		[2]string{"ﾒﾓ 東京都.txt", "何もない。"})
	f.read(f.bob, [2]string{"東京都.txt", "東京都の話。"})
	for query, want := range map[string][]string{
		"":         {"ﾒﾓ 東京都.txt", "会議.txt", "就業規則.md"},
		"有給 20日":   {"就業規則.md"},
		"メモ":       {"ﾒﾓ 東京都.txt"},
		"東京都":      {"ﾒﾓ 東京都.txt"}, // Not 東京 and 京都.
		"京都の":      {"会議.txt"},
		"、":        {},
		"見つからない言葉": {},
	} {
		list, err := f.List(t.Context(), f.ann, query, 0, 10)
		f.must(err)
		var names []string
		for _, s := range list {
			names = append(names, s.Filename)
		}
		if strings.Join(names, "|") != strings.Join(want, "|") {
			t.Errorf("%q: %q, want %q", query, names, want)
		}
	}
	if list, err := f.List(t.Context(), f.ann, "。", 0, 10); err != nil || len(list) != 0 {
		t.Errorf("%v, %+v", err, list)
	}
	if list, err := f.List(t.Context(), f.ann, "東京", 1, 1); err != nil || len(list) != 1 ||
		list[0].Filename != "会議.txt" {
		t.Errorf("%v, %+v", err, list)
	}
}

// TestListFindsAWordBehindManyCandidates searches for words whose tokens are in many passages before the passage that
// contains the words: the index also counts the words of the name, and ignores punctuation.
func TestListFindsAWordBehindManyCandidates(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.start(f.Service)
	rest := strings.Repeat("この規程に定めのない事項は別に定める。", 10)
	var text strings.Builder
	for i := range 30 {
		fmt.Fprintf(&text, "第%d条（手続） A-%d型を12台まで申請する。%s\n", i+1, i+20, rest)
	}
	fmt.Fprintf(&text, "第31条（精算） 経費はA-12型に限り申請する。%s\n", rest)
	f.read(f.ann, [2]string{"経費規程.txt", text.String()})
	for _, query := range []string{"経費 申請", "A-12型"} {
		list, err := f.List(t.Context(), f.ann, query, 0, 10)
		f.must(err)
		if len(list) != 1 || list[0].Match == nil || !strings.HasPrefix(list[0].Match.Passage.Text, "第31条") {
			t.Errorf("%q: %+v", query, list)
		}
	}
}

// version returns the version of the only stored index.
func (f *fixture) version() (version int) {
	f.t.Helper()
	conn, err := pgx.Connect(f.t.Context(), f.dsn)
	f.must(err)
	defer func() { _ = conn.Close(f.t.Context()) }()
	f.must(conn.QueryRow(f.t.Context(), `SELECT version FROM data_source_indexes`).Scan(&version))
	return version
}
