// An OpenID provider for tests: the library oidc-provider with its own pages. Any name signs in, with any password.
// Programs can register themselves as clients, and get tokens for any resource (RFC 8707), about which the client "crm"
// can ask. A request to /forget revokes all tokens, as an administrator of the provider would.
// Arguments: the redirect URI, and the URI for back-channel logout; without them there is no client "tsumugi". It prints
// its issuer.
import { createServer } from 'node:http'
import { Provider } from 'oidc-provider'

const [redirect, logout] = process.argv.slice(2)
const tsumugi = {
  client_id: 'tsumugi',
  client_secret: 'secret of the client',
  redirect_uris: [redirect],
  backchannel_logout_uri: logout,
  backchannel_logout_session_required: true,
}
/** A client refreshes a token that expires in less than 30 seconds before it uses it: here, before each use. */
const lifetime = 25
const resource = (_, audience) => ({
  audience,
  scope: 'crm',
  accessTokenTTL: lifetime,
  accessTokenFormat: 'opaque',
})
const server = createServer()
server.listen(0, '127.0.0.1', () => {
  const issuer = `http://127.0.0.1:${server.address().port}`
  const provider = new Provider(issuer, {
    clients: [
      ...(redirect === undefined ? [] : [tsumugi]),
      {
        client_id: 'crm',
        client_secret: 'secret of the resource',
        redirect_uris: [],
        response_types: [],
        grant_types: [],
      },
    ],
    claims: { email: ['email', 'email_verified'], profile: ['name', 'groups'] },
    features: {
      backchannelLogout: { enabled: true },
      introspection: { enabled: true },
      registration: { enabled: true },
      resourceIndicators: { enabled: true, getResourceServerInfo: resource },
      revocation: { enabled: true },
    },
    // The default dispatcher refuses addresses on this machine.
    fetch: (url, { dispatcher: _, ...options }) => fetch(url, options),
    cookies: { keys: ['key of a test'] },
    findAccount: (_, id) => ({
      accountId: id,
      claims: () => ({
        sub: id,
        email: `${id}@demo.example`,
        email_verified: true,
        name: '佐藤 花子',
        groups: ['営業部'],
      }),
    }),
  })
  const grants = new Set()
  let refreshed = 0
  provider.on('refresh_token.saved', ({ grantId }) => grants.add(grantId))
  provider.on('grant.success', ({ oidc }) => {
    if (oidc.params.grant_type === 'refresh_token') refreshed++
  })
  const forget = async () => {
    for (const id of grants)
      for (const kind of ['AccessToken', 'RefreshToken']) await provider[kind].revokeByGrantId(id)
  }
  const handle = provider.callback()
  server.on('request', (request, response) => {
    if (request.url !== '/forget') return handle(request, response)
    return forget().then(() => response.end(String(refreshed)))
  })
  process.stdout.write(`issuer ${issuer}\n`)
})
