// An OpenID provider for tests: the library oidc-provider with its own pages. Any name signs in, with any password.
// Arguments: the redirect URI, and the URI for back-channel logout. It prints its issuer.
import { createServer } from 'node:http'
import { Provider } from 'oidc-provider'

const [redirect, logout] = process.argv.slice(2)
const server = createServer()
server.listen(0, '127.0.0.1', () => {
  const issuer = `http://127.0.0.1:${server.address().port}`
  const provider = new Provider(issuer, {
    clients: [
      {
        client_id: 'tsumugi',
        client_secret: 'secret of the client',
        redirect_uris: [redirect],
        backchannel_logout_uri: logout,
        backchannel_logout_session_required: true,
      },
    ],
    claims: { email: ['email', 'email_verified'], profile: ['name', 'groups'] },
    features: { backchannelLogout: { enabled: true } },
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
  server.on('request', provider.callback())
  process.stdout.write(`issuer ${issuer}\n`)
})
