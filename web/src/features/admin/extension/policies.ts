import type { Extension } from '@/lib/api'

/** The value of Chromium's policy ExtensionInstallForcelist. */
export function forcelistValue({ id, update_url }: Extension): string {
  return `${id};${update_url}`
}

/** A policy file of Chrome on Linux. */
export function linuxPolicy(extension: Extension): string {
  return JSON.stringify(
    {
      ExtensionInstallForcelist: [forcelistValue(extension)],
      '3rdparty': { extensions: { [extension.id]: { server_url: extension.server_url } } },
    },
    null,
    2,
  )
}

/** The part of a macOS configuration profile. */
export function macProfile(extension: Extension): string {
  return [
    '<key>ExtensionInstallForcelist</key>',
    '<array>',
    `  <string>${escapeXml(forcelistValue(extension))}</string>`,
    '</array>',
  ].join('\n')
}

function escapeXml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
}
