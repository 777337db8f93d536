package mail

import (
	"embed"
	"fmt"
	htmltemplate "html/template"
	"net/url"
	"strings"
	texttemplate "text/template"
	"time"

	"github.com/tsumugi-ai/tsumugi/internal/japan"
)

var (
	//go:embed letter.txt letter.html
	forms embed.FS

	textForm = texttemplate.Must(texttemplate.ParseFS(forms, "letter.txt"))
	htmlForm = htmltemplate.Must(htmltemplate.ParseFS(forms, "letter.html"))
)

// letter is the content of a mail, in Japanese, before it is rendered as text and HTML.
type letter struct {
	kind    string // For the log.
	Email   string
	Name    string // Name of the recipient; may be "".
	Subject string
	Intro   []string // Paragraphs.
	Facts   []fact
	Button  string // Text of the link.
	Link    string
	Notes   []string // Paragraphs after the link.
}

// fact is a labelled value, such as a code to copy.
type fact struct{ Label, Value string }

const (
	whatItIs    = "Tsumugi（紡）は、文書の作成や要約、調べものをお手伝いする、組織のためのAIアシスタントです。"
	noReply     = "このメールは送信専用です。ご返信いただいてもお答えできません。"
	notExpected = "このメールにお心当たりがない場合は、お手数ですが破棄してください。"
)

func (i Invitation) letter(m *Mailer) letter {
	return letter{
		kind:  "invitation",
		Email: i.Email, Name: clean(i.Name), Subject: "【Tsumugi】ご招待のお知らせ",
		Intro: []string{
			"組織の管理者から、Tsumugi（紡）に招待されました。",
			whatItIs,
			"次のリンクを開き、メールアドレスと仮パスワードでログインしてください。続いて、ご自身のパスワードを設定していただきます。",
		},
		Facts:  []fact{{"メールアドレス", i.Email}, {"仮パスワード", visible(i.TemporaryPassword)}},
		Button: "ログインする", Link: m.link("/login", url.Values{"email": {i.Email}}),
		Notes: []string{
			"仮パスワードの有効期間は" + period(i.ValidFor) + "です。過ぎた場合は、管理者に招待メールの再送をご依頼ください。",
			notExpected + "ログインしないかぎり、ご利用は始まりません。",
		},
	}
}

func (i SSOInvitation) letter(m *Mailer) letter {
	return letter{
		kind:  "sso_invitation",
		Email: i.Email, Name: clean(i.Name), Subject: "【Tsumugi】ご招待のお知らせ",
		Intro: []string{
			"組織の管理者から、Tsumugi（紡）に招待されました。",
			whatItIs,
			"次のリンクを開き、組織のアカウント（シングルサインオン）でログインしてください。Tsumugi用のパスワードは必要ありません。",
		},
		Facts:  []fact{{"メールアドレス", i.Email}},
		Button: "ログインする", Link: m.link("/login", url.Values{"email": {i.Email}}),
		Notes: []string{
			"このリンクに有効期限はありません。ログインできない場合は、組織の管理者にお問い合わせください。",
			notExpected + "ログインしないかぎり、ご利用は始まりません。",
		},
	}
}

func (c ResetCode) letter(m *Mailer) letter {
	return letter{
		kind:  "reset_code",
		Email: c.Email, Name: clean(c.Name), Subject: "【Tsumugi】パスワード再設定の確認コード",
		Intro: []string{
			"Tsumugi（紡）のパスワードを再設定するための確認コードをお送りします。",
			"次のリンクを開くと、確認コードが入力された画面で、新しいパスワードを設定できます。画面が開いたままの場合は、確認コードを入力してください。",
		},
		Facts:  []fact{{"確認コード", visible(c.Code)}},
		Button: "パスワードを再設定する", Link: m.link("/reset/password", url.Values{"email": {c.Email}, "code": {c.Code}}),
		Notes: []string{
			"確認コードの有効期間は" + period(c.ValidFor) + "です。過ぎた場合は、もう一度はじめからお手続きください。",
			"確認コードとリンクは、ほかの方に知らせないでください。",
			notExpected + "パスワードは変更されません。",
		},
	}
}

func (n Notice) letter(m *Mailer) letter {
	letter := n.content(m)
	letter.kind, letter.Email, letter.Name, letter.Facts = string(n.Kind), n.Email, clean(n.Name), n.facts()
	return letter
}

// content returns the parts of the letter that depend on the kind.
func (n Notice) content(m *Mailer) letter {
	switch n.Kind {
	case PasswordChanged:
		return letter{
			Subject: "【Tsumugi】パスワードが変更されました",
			Intro: []string{
				"Tsumugi（紡）のパスワードが変更されました。ほかの端末でのログインは、すべて終了しました。",
				"ご自身で変更された場合、お手続きは必要ありません。",
			},
			Button: "パスワードを再設定する", Link: m.link("/reset/password", url.Values{"email": {n.Email}}),
			Notes: []string{"お心当たりがない場合は、すぐにパスワードを再設定し、組織の管理者にお知らせください。"},
		}
	case NewDevice:
		return letter{
			Subject: "【Tsumugi】新しい端末からのログインのお知らせ",
			Intro: []string{
				"これまで使われたことのない端末またはブラウザーから、Tsumugi（紡）にログインがありました。",
				"ご自身でログインされた場合、お手続きは必要ありません。",
			},
			Button: "Tsumugiを開く", Link: m.link("/home", nil),
			Notes: []string{
				"お心当たりがない場合は、すぐにパスワードを変更し、組織の管理者にお知らせください。シングルサインオンをご利用の方は、組織の認証画面でパスワードを変更してください。",
				"ブラウザーのCookieを削除した後や、プライベートウィンドウでログインしたときにも、このお知らせが届きます。",
			},
		}
	case FactorAdded:
		return m.factorNotice("二段階認証が設定されました",
			"Tsumugi（紡）の二段階認証に、認証アプリが登録されました。次回から、パスワードに加えて確認コードが必要です。")
	case FactorRemoved:
		return m.factorNotice("二段階認証が解除されました",
			"Tsumugi（紡）の二段階認証が解除されました。登録されていた認証アプリと回復コードは使えなくなりました。"+
				"組織の管理者がリセットした場合は、パスキーも削除されました。")
	case PasskeyAdded:
		return m.factorNotice("パスキーが追加されました",
			"Tsumugi（紡）にパスキーが追加されました。次回から、このパスキーでもログインできます。")
	case PasskeyRemoved:
		return m.factorNotice("パスキーが削除されました",
			"Tsumugi（紡）のパスキーが削除されました。削除されたパスキーでは、ログインできなくなりました。")
	default: // RecoveryCodeUsed.
		return m.factorNotice("回復コードが使われました",
			"認証アプリの確認コードの代わりに、回復コードを使って、Tsumugi（紡）にログインがありました。使われた回復コードは、もう使えません。")
	}
}

// factorNotice returns the content of a notice about a change or a use of the second factor.
func (m *Mailer) factorNotice(subject, happened string) letter {
	return letter{
		Subject: "【Tsumugi】" + subject,
		Intro:   []string{happened, "ご自身または組織の管理者による操作の場合、お手続きは必要ありません。"},
		Button:  "二段階認証の設定を開く", Link: m.link("/setting/factor", nil),
		Notes: []string{"お心当たりがない場合は、すぐにパスワードを変更し、組織の管理者にお知らせください。"},
	}
}

func (w CertificateWarning) letter(m *Mailer) letter {
	return letter{
		kind:  "certificate_warning",
		Email: w.Email, Name: clean(w.Name), Subject: "【Tsumugi】シングルサインオンの証明書の期限が近づいています",
		Intro: []string{
			"組織のシングルサインオンで使う、IDプロバイダーの証明書の期限が近づいています。",
			"期限を過ぎると、シングルサインオンを使うメンバーはログインできなくなります。期限までに、IDプロバイダーで証明書を更新し、Tsumugi（紡）に新しい証明書を登録してください。",
		},
		Facts:  []fact{{"組織", clean(w.Organization)}, {"証明書の期限", japanTime(w.ExpiresAt)}},
		Button: "シングルサインオンの設定を開く", Link: m.link("/admin/saml", nil),
		Notes: []string{
			"登録できるのは、組織の特権管理者です。メタデータのURLを登録している場合は、IDプロバイダーがメタデータに新しい証明書を加えると、1日以内に反映されます。",
			"このお知らせは、期限の30日前、7日前、1日前に、組織の管理者にお送りします。",
		},
	}
}

// japanTime formats a time in Japan's time zone.
func japanTime(at time.Time) string {
	return at.In(japan.Zone).Format("2006年1月2日 15:04") + "（日本時間）"
}

// facts returns the time, the device and the address of an event.
func (n Notice) facts() []fact {
	facts := []fact{{"日時", japanTime(n.At)}}
	if n.Agent != "" {
		facts = append(facts, fact{"端末", clean(n.Agent)})
	}
	if n.Address != "" {
		facts = append(facts, fact{"IPアドレス", n.Address})
	}
	return facts
}

// render returns the letter as plain text and as HTML. home is the URL of the app.
func (l letter) render(home string) (text, html string, err error) {
	var t, h strings.Builder
	data := map[string]any{"Letter": l, "Home": home, "NoReply": noReply}
	if err := textForm.Execute(&t, data); err != nil {
		return "", "", err
	}
	if err := htmlForm.Execute(&h, data); err != nil {
		return "", "", err
	}
	return strings.ReplaceAll(t.String(), "\n", "\r\n"), h.String(), nil
}

// period formats a duration in the largest unit that divides it.
func period(d time.Duration) string {
	switch minutes := int64(d / time.Minute); {
	case minutes >= 24*60 && minutes%(24*60) == 0:
		return fmt.Sprintf("%d日間", minutes/(24*60))
	case minutes >= 60 && minutes%60 == 0:
		return fmt.Sprintf("%d時間", minutes/60)
	default:
		return fmt.Sprintf("%d分間", minutes)
	}
}
