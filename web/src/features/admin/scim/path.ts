/** readablePath decodes the path of a call. It returns a path that cannot be decoded, because it was cut, unchanged. */
export function readablePath(path: string): string {
  try {
    return decodeURIComponent(path.replaceAll('+', ' '))
  } catch {
    return path
  }
}
