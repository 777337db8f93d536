import type { Extension } from '@/lib/api'

/** forcelistValue returns the value of Chromium's policy ExtensionInstallForcelist. */
export function forcelistValue({ id, update_url }: Extension): string {
  return `${id};${update_url}`
}

/** The key of Edge's policies in the Windows registry. */
const edgeKey = String.raw`HKEY_LOCAL_MACHINE\SOFTWARE\Policies\Microsoft\Edge`

/** A registry file with Edge's policy ExtensionInstallForcelist. */
export function edgeRegistry(extension: Extension): string {
  return [
    'Windows Registry Editor Version 5.00',
    '',
    String.raw`[${edgeKey}\ExtensionInstallForcelist]`,
    `"1"="${forcelistValue(extension)}"`,
  ].join('\n')
}

/** edgeSettings returns the value of Edge's policy ExtensionSettings, which overrides ExtensionInstallForcelist. */
export function edgeSettings({ id, update_url }: Extension): string {
  return JSON.stringify({
    [id]: { installation_mode: 'force_installed', update_url, override_update_url: true },
  })
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
