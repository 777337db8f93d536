/** Caller is the part of the session that calls to the server need. The app sets it at startup. */
export interface Caller {
  /** Like the global `fetch`, with the user's token. */
  readonly fetch: (request: Request) => Promise<Response>
  /**
   * Returns an id token that is valid for another `ms` and is not `refused`, renewed first if necessary; null if no
   * user is signed in.
   */
  token(ms: number, refused?: string | null): Promise<string | null>
  /** The id of the signed-in user; '' if no user is signed in. */
  userId(): string
}

let current: Caller = {
  fetch: (request) => fetch(request),
  token: async () => null,
  userId: () => '',
}

/** callAs sets the caller of all further calls. */
export function callAs(caller: Caller): void {
  current = caller
}

/** The current caller. */
export function caller(): Caller {
  return current
}
