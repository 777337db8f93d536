/** The claims of a JWT, without verification, which is the server's task. */

/** The subject of a JWT; '' if it has none. */
export function subjectOf(jwt: string): string {
  return String(claimsOf(jwt).sub ?? '')
}

/** The address in a JWT; '' if it has none. */
export function emailOf(jwt: string): string {
  return String(claimsOf(jwt).email ?? '')
}

/** expiryOf returns the expiry of a JWT, in milliseconds since the epoch; 0 if it has none. */
export function expiryOf(jwt: string): number {
  const { exp } = claimsOf(jwt)
  return typeof exp === 'number' ? exp * 1000 : 0
}

/** signInTimeOf returns when the session of an id token began, in seconds since the epoch; 0 if it is unknown. */
export function signInTimeOf(jwt: string): number {
  return Number(claimsOf(jwt).auth_time ?? 0)
}

function claimsOf(jwt: string): Record<string, unknown> {
  try {
    const payload = jwt.split('.')[1] ?? ''
    const binary = atob(payload.replaceAll('-', '+').replaceAll('_', '/'))
    const bytes = Uint8Array.from(binary, (character) => character.charCodeAt(0))
    const claims: unknown = JSON.parse(new TextDecoder().decode(bytes))
    return claims !== null && typeof claims === 'object' ? (claims as Record<string, unknown>) : {}
  } catch {
    return {}
  }
}
