// Starts the installed Chromium or Chrome for tests of the page, with playwright-core. Without one, these tests are skipped with a note.
import { accessSync, constants } from 'node:fs'
import { chromium, type Browser } from 'playwright-core'
import { testEnv } from '../env.ts'
import { tempDir } from '../tmp.ts'
import { collectReports } from './page-reports.ts'

/** the time limit of each wait in a page, in ms: far more than a slow machine needs */
export const PAGE_WAIT_MS = 100_000

const PATHS = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/snap/bin/chromium', '/usr/bin/google-chrome']

/** The program of Chromium; null: there is none. */
export const CHROMIUM: string | null = [process.env['REEVE_CHROMIUM'] ?? '', ...PATHS].find(isProgram) ?? null
if (CHROMIUM === null) console.info('tests in Chromium are not run: there is none (scripts/need-chromium installs it)')

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return path !== ''
  } catch {
    // The file does not exist, or is not executable.
    return false
  }
}

/** Starts Chromium with a home of its own. Disposing of the browser closes it and removes its files. */
export async function openChromium(args: readonly string[] = []): Promise<Browser & AsyncDisposable> {
  if (CHROMIUM === null) throw new Error('there is no Chromium')
  const home = await tempDir()
  const browser = await chromium.launch({
    executablePath: CHROMIUM,
    args: ['--disable-gpu', '--disable-dev-shm-usage', ...args],
    env: testEnv(home.path, { TMPDIR: home.path, XDG_CONFIG_HOME: home.path, XDG_CACHE_HOME: home.path }),
  })
  browser.on('context', collectReports)
  return Object.assign(browser, {
    [Symbol.asyncDispose]: async () => {
      await browser.close()
      await home[Symbol.asyncDispose]()
    },
  })
}
