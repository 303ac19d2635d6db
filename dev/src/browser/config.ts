import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'

/** As Debian, Ubuntu and Google name it. */
const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'] as const

export const HOW_TO_GET_CHROMIUM =
  'there is no Chromium here: install it (on Debian `apt-get install chromium`) or name one with CHROMIUM'

export type BrowserConfig = {
  readonly chromium: string | undefined
  /** Whether to do without one would hide that nothing was looked at. */
  readonly required: boolean
}

/** A Chromium of this machine; none is ever downloaded. */
export function readBrowserConfig(
  env: Readonly<Record<string, string | undefined>> = process.env,
): BrowserConfig {
  const folders = (env.PATH ?? '').split(delimiter).filter((folder) => folder !== '')
  const candidates = NAMES.flatMap((name) => folders.map((folder) => join(folder, name)))
  const named = env.CHROMIUM === undefined || env.CHROMIUM === '' ? [] : [env.CHROMIUM]
  const chromium = (named.length > 0 ? named : candidates).find(isExecutable)
  return { chromium, required: (env.CI ?? '') !== '' || named.length > 0 }
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
