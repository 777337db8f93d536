package saml

import (
	"errors"
	"strings"
	"time"

	"github.com/beevik/etree"

	"github.com/tsumugi-ai/tsumugi/internal/identity/sso"
)

// maxSkew is the accepted clock skew between the identity provider and this server, in either direction. In addition, a
// response must arrive within maxAge of its issue instant.
const (
	maxSkew = 3 * time.Minute
	maxAge  = 90 * time.Second
)

const (
	maxAssertionID = 256 // In bytes.
	maxNameID      = 256 // In characters (core, section 8.3.7).

	confirmed     = "urn:oasis:names:tc:SAML:2.0:cm:bearer"
	transient     = "urn:oasis:names:tc:SAML:2.0:nameid-format:transient"
	statusSuccess = "urn:oasis:names:tc:SAML:2.0:status:Success"
)

// assertion is the content of a verified assertion.
type assertion struct {
	id           string
	nameID       string
	nameIDFormat string
	notOnOrAfter time.Time
	sessionUntil *time.Time // Nil if the identity provider does not set it.
	authnInstant *time.Time // The latest authentication of the person.
	attributes   []Attribute
}

func reject(reason, advice string) *sso.Rejection { return sso.Reject(reason, advice) }

const adviceForm = "応答の形式が正しくありません。"

// expectation holds the expected values of a response.
type expectation struct {
	settings  Settings
	audience  string // The service provider's entity id.
	acs       string
	requestID string
	now       time.Time
}

// verify returns the content of the assertion of a response, or a rejection.
func (s *Service) verify(settings Settings, requestID string, raw []byte) (assertion, error) {
	want := expectation{
		settings: settings, audience: s.entityID(settings.OrganizationID), acs: s.acsURL(settings.OrganizationID),
		requestID: requestID, now: s.sso.Now(),
	}
	response, asserted, err := parseResponse(raw)
	switch {
	case errors.Is(err, errEncrypted):
		return assertion{}, reject("the assertion is encrypted", "アサーションが暗号化されています。IDプロバイダーで暗号化をオフにしてください。")
	case errors.Is(err, errWeak):
		return assertion{}, reject("a weak signature method", "署名方式に対応していません。IDプロバイダーでRSA-SHA256を選択してください。")
	case err != nil:
		if saysDenied(raw) { // Such a response has no assertion.
			return assertion{}, sso.ErrDenied
		}
		return assertion{}, reject("the response is malformed: "+err.Error(), adviceForm)
	}
	if err := want.checkResponse(response); err != nil {
		return assertion{}, err
	}
	if err := want.checkAssertion(asserted); err != nil {
		return assertion{}, err
	}
	signed, err := want.checkSignatures(response, asserted)
	if err != nil {
		return assertion{}, err
	}
	a, err := read(signed)
	if err == nil && a.sessionUntil != nil && !want.now.Before(*a.sessionUntil) {
		err = errTime // No skew is allowed here, because the session would end at once.
	}
	return a, err
}

// saysDenied reports whether the status of a response is a refusal by the identity provider.
func saysDenied(raw []byte) bool {
	if len(raw) > maxResponse {
		return false
	}
	response, err := parseXML(raw)
	return err == nil && is(response, nsProtocol, "Response") && errors.Is(checkStatus(response), sso.ErrDenied)
}

func checkStatus(response *etree.Element) error {
	status, err := only(response, nsProtocol, "Status")
	if err != nil {
		return reject("there is no status", adviceForm)
	}
	code, err := only(status, nsProtocol, "StatusCode")
	if err != nil {
		return reject("there is no status", adviceForm)
	}
	if code.SelectAttrValue("Value", "") != statusSuccess {
		return sso.ErrDenied
	}
	return nil
}

// checkResponse checks the parts of a response outside its assertion.
func (e *expectation) checkResponse(response *etree.Element) error {
	if err := checkStatus(response); err != nil {
		return err
	}
	if destination := response.SelectAttr("Destination"); destination != nil && destination.Value != e.acs {
		return reject("another destination", "応答の宛先（Destination）がACS URLと一致しません。")
	}
	if response.SelectAttrValue("InResponseTo", "") != e.requestID {
		return reject("it answers another request", "応答がこのリクエストに対するものではありません。")
	}
	if response.SelectAttrValue("Version", "") != "2.0" {
		return reject("another version", adviceForm)
	}
	if err := e.checkIssueInstant(response); err != nil {
		return err
	}
	if issuers := children(response, nsAssertion, "Issuer"); len(issuers) > 1 || len(issuers) == 1 &&
		text(issuers[0]) != e.settings.EntityID {
		return errIssuer
	}
	return nil
}

var errIssuer = reject("another issuer", "発行者（Issuer）がIDプロバイダーのエンティティIDと一致しません。")

// checkIssueInstant checks the issue instant of a response or an assertion.
func (e *expectation) checkIssueInstant(el *etree.Element) error {
	at, ok := instant(el, "IssueInstant")
	if !ok {
		return reject("there is no time of issue", adviceForm)
	}
	if at.Add(maxAge+maxSkew).Before(e.now) || at.After(e.now.Add(maxSkew)) {
		return errTime
	}
	return nil
}

var errTime = reject("it does not hold at this time", "応答の有効期間外です。IDプロバイダーとサーバーの時刻を確認してください。")

// checkAssertion checks the recipient and the validity period of an assertion, as the profile requires (profiles,
// section 4.1.4.3).
func (e *expectation) checkAssertion(a *etree.Element) error {
	id := a.SelectAttrValue("ID", "")
	if id == "" || len(id) > maxAssertionID || a.SelectAttrValue("Version", "") != "2.0" {
		return reject("the assertion has no id or another version", adviceForm)
	}
	if err := e.checkIssueInstant(a); err != nil {
		return err
	}
	issuer, err := only(a, nsAssertion, "Issuer")
	if err != nil || text(issuer) != e.settings.EntityID {
		return errIssuer
	}
	if err := e.checkSubject(a); err != nil {
		return err
	}
	if err := e.checkConditions(a); err != nil {
		return err
	}
	statements := children(a, nsAssertion, "AuthnStatement")
	if len(statements) == 0 {
		return reject("there is no AuthnStatement", adviceForm)
	}
	for _, statement := range statements {
		if statement.SelectAttr("SessionNotOnOrAfter") == nil {
			continue
		}
		if end, ok := instant(statement, "SessionNotOnOrAfter"); !ok || !e.now.Before(end.Add(maxSkew)) {
			return errTime
		}
	}
	return nil
}

func (e *expectation) checkSubject(a *etree.Element) error {
	subject, err := only(a, nsAssertion, "Subject")
	if err != nil {
		return reject("there is no subject", adviceForm)
	}
	nameID, err := only(subject, nsAssertion, "NameID")
	if err != nil || text(nameID) == "" || len([]rune(text(nameID))) > maxNameID {
		return reject("there is no NameID", "NameIDがありません。IDプロバイダーでNameIDを設定してください。")
	}
	if strings.HasPrefix(text(nameID), byAddress) && nameID.SelectAttrValue("Format", "") != transient {
		return reject("a NameID like a transient one's address",
			"「"+byAddress+"」で始まるNameIDは使用できません。IDプロバイダーのNameIDの設定を変更してください。")
	}
	confirmations := children(subject, nsAssertion, "SubjectConfirmation")
	if len(confirmations) == 0 {
		return reject("there is no confirmation", adviceForm)
	}
	for _, confirmation := range confirmations { // One valid confirmation is enough (profiles, section 4.1.4.3).
		if err = e.checkConfirmation(confirmation); err == nil {
			return nil
		}
	}
	return err
}

func (e *expectation) checkConfirmation(confirmation *etree.Element) error {
	data, err := only(confirmation, nsAssertion, "SubjectConfirmationData")
	if err != nil || confirmation.SelectAttrValue("Method", "") != confirmed {
		return reject("another confirmation", adviceForm)
	}
	if data.SelectAttrValue("Recipient", "") != e.acs {
		return reject("another recipient", "応答の受信者（Recipient）がACS URLと一致しません。")
	}
	if data.SelectAttrValue("InResponseTo", "") != e.requestID {
		return reject("it answers another request", "応答がこのリクエストに対するものではありません。")
	}
	// The profile forbids NotBefore here; one that has passed is harmless.
	if begin, ok := instant(data, "NotBefore"); data.SelectAttr("NotBefore") != nil &&
		(!ok || begin.After(e.now.Add(maxSkew))) {
		return errTime
	}
	if end, ok := instant(data, "NotOnOrAfter"); !ok || !e.now.Before(end.Add(maxSkew)) {
		return errTime
	}
	return nil
}

func (e *expectation) checkConditions(a *etree.Element) error {
	conditions, err := only(a, nsAssertion, "Conditions")
	if err != nil {
		return reject("there are no conditions", adviceForm)
	}
	if begin, ok := instant(conditions, "NotBefore"); conditions.SelectAttr("NotBefore") != nil &&
		(!ok || begin.After(e.now.Add(maxSkew))) {
		return errTime
	}
	if end, ok := instant(conditions, "NotOnOrAfter"); !ok || !e.now.Before(end.Add(maxSkew)) {
		return errTime
	}
	restrictions := children(conditions, nsAssertion, "AudienceRestriction")
	if len(restrictions) == 0 {
		return errAudience
	}
	for _, restriction := range restrictions { // Every restriction must be met, by any of its audiences.
		ours := false
		for _, audience := range children(restriction, nsAssertion, "Audience") {
			ours = ours || text(audience) == e.audience
		}
		if !ours {
			return errAudience
		}
	}
	return nil
}

var errAudience = reject("another audience", "対象（Audience）がサービスプロバイダーのエンティティIDと一致しません。")

// read returns the content of a verified assertion.
func read(signed *etree.Element) (assertion, error) {
	subject, err := only(signed, nsAssertion, "Subject")
	if err != nil {
		return assertion{}, errSignature
	}
	nameID, err := only(subject, nsAssertion, "NameID")
	if err != nil {
		return assertion{}, errSignature
	}
	conditions, err := only(signed, nsAssertion, "Conditions")
	if err != nil {
		return assertion{}, errSignature
	}
	a := assertion{
		id: signed.SelectAttrValue("ID", ""), nameID: text(nameID), nameIDFormat: nameID.SelectAttrValue("Format", ""),
	}
	a.notOnOrAfter, _ = instant(conditions, "NotOnOrAfter") // Checked before, as are the following.
	for _, statement := range children(signed, nsAssertion, "AuthnStatement") {
		end, ok := instant(statement, "SessionNotOnOrAfter")
		if ok && (a.sessionUntil == nil || end.Before(*a.sessionUntil)) {
			a.sessionUntil = &end
		}
		at, ok := instant(statement, "AuthnInstant")
		if ok && (a.authnInstant == nil || at.After(*a.authnInstant)) {
			a.authnInstant = &at
		}
	}
	for _, statement := range children(signed, nsAssertion, "AttributeStatement") {
		for _, attribute := range children(statement, nsAssertion, "Attribute") {
			read := Attribute{Name: attribute.SelectAttrValue("Name", "")}
			for _, value := range children(attribute, nsAssertion, "AttributeValue") {
				read.Values = append(read.Values, text(value))
			}
			a.attributes = append(a.attributes, read)
		}
	}
	return a, nil
}

// values returns all values of the attributes with the given name.
func (a assertion) values(name string) (values []string) {
	for _, attribute := range a.attributes {
		if attribute.Name == name {
			values = append(values, attribute.Values...)
		}
	}
	return values
}

// byAddress is the prefix of keys of people with a transient NameID. No other key begins with it.
const byAddress = "email:"

// key returns the key that identifies a person in later assertions. A transient NameID differs each time, so the key is
// then the address, which the identity provider has verified.
func (a assertion) key(email string) string {
	if a.nameIDFormat == transient {
		return byAddress + email
	}
	return a.nameID
}

// text returns the whole text of an element. Comments, where etree would stop, are rejected before.
func text(el *etree.Element) string {
	var b strings.Builder
	for _, token := range el.Child {
		if data, ok := token.(*etree.CharData); ok {
			b.WriteString(data.Data)
		}
	}
	// XML white space alone: any other character is part of a name, even an invisible one.
	return strings.Trim(b.String(), " \t\r\n")
}

func instant(el *etree.Element, attribute string) (time.Time, bool) {
	at, err := time.Parse(time.RFC3339Nano, el.SelectAttrValue(attribute, ""))
	return at, err == nil
}

// person returns the person in an assertion, or a rejection.
func (a assertion) person(settings Settings) (sso.Person, error) {
	emails := []string{a.nameID}
	if settings.EmailAttribute != "" {
		emails = a.values(settings.EmailAttribute)
	}
	if len(emails) != 1 || emails[0] == "" {
		return sso.Person{}, sso.RejectPerson("there is no one address",
			"メールアドレスを取得できません。メールアドレスの属性名と、IDプロバイダーの属性の設定を確認してください。")
	}
	who := sso.Person{
		Provider: sso.Provider{Protocol: sso.SAML, ID: settings.EntityID}, ID: a.key(emails[0]), Email: emails[0],
		AuthenticatedAt: a.authnInstant,
	}
	if settings.NameAttribute != "" {
		who.Name = strings.Join(a.values(settings.NameAttribute), " ")
	}
	return sso.CheckPerson(who, settings.EmailDomains, settings.MailDomains)
}
