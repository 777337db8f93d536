/** The session, as far as a call to the server needs it. The app hands it in at its start. */
export interface Caller {
  /** Like the global `fetch`, with the user's token. */
  readonly fetch: (request: Request) => Promise<Response>
  /**
   * An id token that stays valid for `ms` more and is not `refused`, renewed first if need be; null if nobody is signed in.
   */
  token(ms: number, refused?: string | null): Promise<string | null>
  /** The id of the signed-in user; '' if nobody is signed in. */
  userId(): string
}

let current: Caller = {
  fetch: (request) => fetch(request),
  token: async () => null,
  userId: () => '',
}

/** Makes every call from now on as `caller`. */
export function callAs(caller: Caller): void {
  current = caller
}

/** Who calls. */
export function caller(): Caller {
  return current
}
