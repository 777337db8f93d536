import { signed, take } from './http'

/** Stores all decisions about the changes of a proofread text. */
export async function decideChanges(
  messageId: string,
  { accepted, refused }: { readonly accepted: readonly number[]; readonly refused: readonly number[] },
): Promise<void> {
  // keepalive: recent decisions are sent when the page closes.
  const params = { path: { message_id: messageId } }
  const body = { accepted: [...accepted], refused: [...refused] }
  await take(signed.PUT('/v1/message/{message_id}/decision', { params, body, keepalive: true }))
}

/** A proofread text as a Word file, with the decisions stored on the server. */
export async function proofreadDocx(messageId: string, changes: 'tracked' | 'applied'): Promise<Blob> {
  const params = { path: { message_id: messageId }, query: { changes } }
  const file = await take(signed.GET('/v1/message/{message_id}/docx', { params, parseAs: 'blob' }))
  return file as unknown as Blob
}
