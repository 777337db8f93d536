#!/bin/sh
# Signs the responses of this folder anew, with Debian's xmlsec1: each with another list of inclusive namespaces, for the
# assertion (1) and for SignedInfo (2), and with the signature on the assertion or around it (3).
set -eu
openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out certificate.pem -days 36500 -subj /CN=idp.example 2>/dev/null
inclusive() {
	[ -z "$1" ] || printf '<ec:InclusiveNamespaces xmlns:ec="http://www.w3.org/2001/10/xml-exc-c14n#" PrefixList="%s"/>' "$1"
}
signature() { # id, list of the transform, list of the canonicalization
	cat <<END
<ds:Signature xmlns:ds="http://www.w3.org/2000/09/xmldsig#"><ds:SignedInfo><ds:CanonicalizationMethod Algorithm="http://www.w3.org/2001/10/xml-exc-c14n#">$(inclusive "$3")</ds:CanonicalizationMethod><ds:SignatureMethod Algorithm="http://www.w3.org/2001/04/xmldsig-more#rsa-sha256"/><ds:Reference URI="#$1"><ds:Transforms><ds:Transform Algorithm="http://www.w3.org/2000/09/xmldsig#enveloped-signature"/><ds:Transform Algorithm="http://www.w3.org/2001/10/xml-exc-c14n#">$(inclusive "$2")</ds:Transform></ds:Transforms><ds:DigestMethod Algorithm="http://www.w3.org/2001/04/xmlenc#sha256"/><ds:DigestValue/></ds:Reference></ds:SignedInfo><ds:SignatureValue/></ds:Signature>
END
}
sign() { # name, list of the transform, list of the canonicalization, which
	around= within=
	if [ "$4" = response ]; then around=$(signature _r "$2" "$3"); else within=$(signature _a "$2" "$3"); fi
	cat > unsigned.xml <<END
<samlp:Response xmlns:samlp="urn:oasis:names:tc:SAML:2.0:protocol" xmlns:xs="http://www.w3.org/2001/XMLSchema" xmlns="urn:unused" xmlns:other="urn:other" ID="_r" Version="2.0" IssueInstant="2027-04-01T09:00:00Z" InResponseTo="_request" Destination="https://tsumugi.example/v1/saml/00000000-0000-7000-8000-000000000001/acs"><saml:Issuer xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion">https://idp.example</saml:Issuer>$around<samlp:Status><samlp:StatusCode Value="urn:oasis:names:tc:SAML:2.0:status:Success"/></samlp:Status>
  <saml:Assertion xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" Version="2.0" ID="_a" IssueInstant="2027-04-01T09:00:00Z"><saml:Issuer>https://idp.example</saml:Issuer>$within
    <saml:Subject><saml:NameID Format="urn:oasis:names:tc:SAML:2.0:nameid-format:persistent">n1</saml:NameID><saml:SubjectConfirmation Method="urn:oasis:names:tc:SAML:2.0:cm:bearer"><saml:SubjectConfirmationData NotOnOrAfter="2027-04-01T09:05:00Z" Recipient="https://tsumugi.example/v1/saml/00000000-0000-7000-8000-000000000001/acs" InResponseTo="_request"/></saml:SubjectConfirmation></saml:Subject>
    <saml:Conditions NotBefore="2027-04-01T08:59:00Z" NotOnOrAfter="2027-04-01T09:05:00Z"><saml:AudienceRestriction><saml:Audience>https://tsumugi.example/v1/saml/00000000-0000-7000-8000-000000000001/metadata</saml:Audience></saml:AudienceRestriction></saml:Conditions>
    <saml:AuthnStatement AuthnInstant="2027-04-01T09:00:00Z"><saml:AuthnContext><saml:AuthnContextClassRef>urn:oasis:names:tc:SAML:2.0:ac:classes:Password</saml:AuthnContextClassRef></saml:AuthnContext></saml:AuthnStatement>
    <saml:AttributeStatement><saml:Attribute Name="name" other:note="a &quot;b&quot; &lt;c&gt; &#9;&#10;&#13;" xmlns:late="urn:late"><saml:AttributeValue xsi:type="xs:string">アリス &amp; ボブ &lt;x&gt; &#13;</saml:AttributeValue></saml:Attribute></saml:AttributeStatement>
  </saml:Assertion>
</samlp:Response>
END
	xmlsec1 --sign --privkey-pem key.pem --id-attr:ID urn:oasis:names:tc:SAML:2.0:assertion:Assertion \
		--id-attr:ID urn:oasis:names:tc:SAML:2.0:protocol:Response --output "$1.xml" unsigned.xml
	xmlsec1 --verify --pubkey-cert-pem certificate.pem --id-attr:ID urn:oasis:names:tc:SAML:2.0:assertion:Assertion \
		--id-attr:ID urn:oasis:names:tc:SAML:2.0:protocol:Response "$1.xml" 2>/dev/null
}
for which in assertion response; do
	sign "$which-plain" "" "" "$which"
	sign "$which-xs" xs "" "$which"
	sign "$which-many" "xs xsi saml late absent" "" "$which"
	sign "$which-default" "#default xs" "" "$which"
	sign "$which-signed-info" "xs" "xs samlp #default other" "$which"
done
rm -f key.pem unsigned.xml
