/** passkeysSupported reports whether this browser supports passkeys as the app uses them. */
export function passkeysSupported(): boolean {
  return 'PublicKeyCredential' in window && 'parseCreationOptionsFromJSON' in PublicKeyCredential
}

/** passkeyAutofillSupported reports whether this browser offers passkeys in the suggestions of a field. */
export async function passkeyAutofillSupported(): Promise<boolean> {
  return passkeysSupported() && (await PublicKeyCredential.isConditionalMediationAvailable?.()) === true
}
