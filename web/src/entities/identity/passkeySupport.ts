/** passkeysSupported reports whether this browser supports passkeys as the app uses them. */
export function passkeysSupported(): boolean {
  return 'PublicKeyCredential' in window && 'parseCreationOptionsFromJSON' in PublicKeyCredential
}
