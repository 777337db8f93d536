package api

import (
	"bytes"
	"compress/flate"
	"context"
	"encoding/csv"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/japan"
	"github.com/tsumugi-ai/tsumugi/internal/org"
)

// maxCSVRows is the maximum number of rows of a file. A longer list is refused, so that no list is truncated unnoticed.
const maxCSVRows = 100_000

// byteOrderMark makes Excel read a CSV file as UTF-8.
const byteOrderMark = "\ufeff"

// table is a list to send as a CSV file.
type table struct {
	name   string // Of the file, without its extension.
	header []string
	// rows reads the list with one statement, and calls write for each row: rows that are added or removed meanwhile would
	// move the parts of several statements.
	rows func(ctx context.Context, limit int, write func(row ...string)) error
}

// writeCSV sends a table. It reads the whole table before it sends the first byte, so that a failure is reported as a
// problem, and a slow client holds no connection of the database. Meanwhile the file is kept compressed.
func writeCSV(c *call, t table) error {
	var packed bytes.Buffer
	packer, err := flate.NewWriter(&packed, flate.BestSpeed)
	if err != nil {
		return err
	}
	var size byteCount
	file := io.MultiWriter(packer, &size)
	_, _ = io.WriteString(file, byteOrderMark)
	out := csv.NewWriter(file)
	out.UseCRLF = true // Required by RFC 4180.
	_ = out.Write(t.header)
	rows := 0
	if err := t.rows(c.ctx(), maxCSVRows+1, func(row ...string) {
		for i := range row {
			row[i] = plainCell(row[i])
		}
		_ = out.Write(row)
		rows++
	}); err != nil {
		return err
	}
	if rows > maxCSVRows {
		return fault.InvalidField("from", "%d行を超えるため、CSVにできません。期間を短くしてください。", maxCSVRows)
	}
	out.Flush()
	if err := packer.Close(); err != nil {
		return err
	}
	attach(c.w, t.name+".csv")
	return writeFile(c.w, "text/csv; charset=utf-8", "no-store", int64(size), flate.NewReader(&packed))
}

// byteCount counts the bytes that are written.
type byteCount int64

func (n *byteCount) Write(b []byte) (int, error) {
	*n += byteCount(len(b))
	return len(b), nil
}

// plainCell returns a text that a spreadsheet shows without evaluating it as a formula: see OWASP, "CSV Injection".
// Spreadsheets may ignore spaces and invisible characters before a formula.
func plainCell(text string) string {
	first, _ := utf8.DecodeRuneInString(text)
	bare := strings.TrimLeftFunc(text, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsGraphic(r) })
	formula, _ := utf8.DecodeRuneInString(bare)
	if text != "" && strings.ContainsRune("\t\r\n", first) || bare != "" && strings.ContainsRune(formulaSigns, formula) {
		return "'" + text
	}
	return text
}

// formulaSigns are the characters that begin a formula, in all their forms.
const formulaSigns = "=+-@＝＋－＠﹦﹢﹣﹫−"

// local formats a time for people in Japan; "" for nil.
func local(at *time.Time) string {
	if at == nil {
		return ""
	}
	return at.In(japan.Zone).Format("2006-01-02 15:04:05")
}

func (s *Server) exportUsage(c *call) error {
	period := org.Period{From: c.day("from"), To: c.day("to")}
	by := choice[UsageBy](&c.checks, "by")
	if err := c.err(); err != nil {
		return err
	}
	switch by {
	case UsageByModel:
		return s.exportModelUsage(c, period)
	case UsageByTool:
		return s.exportToolUsage(c, period)
	}
	return writeCSV(c, table{
		name:   "tsumugi-usage",
		header: []string{"日付", "名前", "メールアドレス", "回答数", "入力トークン", "出力トークン"},
		rows: func(ctx context.Context, limit int, write func(row ...string)) error {
			list, err := s.Org.DailyUsage(ctx, c.actor, period, limit)
			for _, u := range list {
				write(
					u.Date.Format(time.DateOnly), u.Name, u.Email, strconv.FormatInt(u.Messages, 10),
					strconv.FormatInt(u.InputTokens, 10), strconv.FormatInt(u.OutputTokens, 10),
				)
			}
			return err
		},
	})
}

func (s *Server) exportModelUsage(c *call, period org.Period) error {
	name, err := s.Models.Names(c.ctx(), c.actor.OrganizationID)
	if err != nil {
		return err
	}
	return writeCSV(c, table{
		name:   "tsumugi-usage-model",
		header: []string{"日付", "モデル", "モデルID", "回答数", "入力トークン", "出力トークン"},
		rows: func(ctx context.Context, limit int, write func(row ...string)) error {
			list, err := s.Org.DailyUsageByModel(ctx, c.actor, period, limit)
			for _, u := range list {
				write(
					u.Date.Format(time.DateOnly), name(u.ModelID), u.ModelID, strconv.FormatInt(u.Messages, 10),
					strconv.FormatInt(u.InputTokens, 10), strconv.FormatInt(u.OutputTokens, 10),
				)
			}
			return err
		},
	})
}

func (s *Server) exportToolUsage(c *call, period org.Period) error {
	return writeCSV(c, table{
		name:   "tsumugi-usage-tool",
		header: []string{"日付", "ツール", "ツール名", "スキル", "スキルID", "回数", "失敗", "合計時間（ミリ秒）"},
		rows: func(ctx context.Context, limit int, write func(row ...string)) error {
			list, err := s.Org.DailyUsageByTool(ctx, c.actor, period, limit)
			for _, u := range list {
				write(
					u.Date.Format(time.DateOnly), u.Tool, u.Title, u.SkillName, u.SkillID.String(),
					strconv.FormatInt(u.Calls, 10), strconv.FormatInt(u.Failures, 10), strconv.FormatInt(u.DurationMS, 10),
				)
			}
			return err
		},
	})
}

// Japanese names for CSV files, like those on the screens.
var (
	roleNames = map[identity.Role]string{
		identity.RoleGeneralUser:            "一般ユーザー",
		identity.RoleOrganizationAdmin:      "管理者",
		identity.RoleOrganizationSuperAdmin: "特権管理者",
	}
	authTypeNames = map[identity.AuthType]string{
		identity.AuthCognito: "パスワード", identity.AuthFederated: "シングルサインオン",
	}
)

func (s *Server) exportMembers(c *call) error {
	return writeCSV(c, table{
		name:   "tsumugi-members",
		header: []string{"メールアドレス", "名前", "役割", "状態", "ログイン方法", "招待日時", "最終ログイン", "今月のトークン", "月の上限"},
		rows: func(ctx context.Context, limit int, write func(row ...string)) error {
			return s.Org.EachMember(ctx, c.actor, org.MemberQuery{Limit: limit}, func(m org.Member) {
				write(
					m.Email, m.Name, roleNames[m.Role], memberState(m), authTypeNames[m.AuthType],
					local(m.InvitedAt), local(m.LastSignedInAt), strconv.FormatInt(m.TokensUsed, 10),
					limitCell(m.LimitTokens),
				)
			})
		},
	})
}

// memberState returns the state of a member.
func memberState(m org.Member) string {
	switch {
	case m.State == identity.StateInactive:
		return "停止中"
	case m.InvitedAt != nil && (m.LastSignedInAt == nil || m.InvitedAt.After(*m.LastSignedInAt)):
		return "招待中"
	}
	return "利用中"
}

// limitCell formats a limit of tokens.
func limitCell(limit *int64) string {
	if limit == nil {
		return "制限なし"
	}
	return strconv.FormatInt(*limit, 10)
}

func (s *Server) exportAudit(c *call) error {
	query := c.auditQuery()
	if err := c.err(); err != nil {
		return err
	}
	return writeCSV(c, table{
		name:   "tsumugi-audit",
		header: []string{"日時", "操作", "実行者", "実行者のメールアドレス", "対象", "変更内容", "接続元", "回数", "リクエストID"},
		rows: func(ctx context.Context, limit int, write func(row ...string)) error {
			query.Limit = limit
			return s.Org.EachAuditEvent(ctx, c.actor, query, func(e org.Event) { write(auditRow(e)...) })
		},
	})
}

func auditRow(e org.Event) []string {
	changes := convert(e.Details, func(c org.Change) string { return c.Field + ": " + c.Before + " → " + c.After })
	return []string{
		local(&e.At), string(e.Action), e.By.Name, e.By.Email, e.TargetLabel, strings.Join(changes, "; "),
		addressText(&e.By.Address), strconv.Itoa(max(e.Times, 1)), e.By.RequestID,
	}
}
