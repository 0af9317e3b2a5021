// Opens the user's browser at a link to the page. The link contains a secret. It goes through a file of mode 0600, because other users can
// read a command line. If a browser could not read such a file, none is opened, and the caller prints the link. Must not open the page for
// an agent. Test: test/e2e/web/access/verb.test.ts.
import { spawn, spawnSync } from 'node:child_process'
import { lstatSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { isAbsolute, join } from 'node:path'
import type { WebOpenedView } from '../../api/views/web.ts'
import { Failure } from '../errors.ts'

type Env = Readonly<Record<string, string | undefined>>

/** the time limit for reading the name of the default browser */
const BROWSER_NAME_MS = 3_000

export interface OpenedFile {
  /** Removes the file. */
  remove(): void
}

/** Refuses to run inside a process of reeve. Errors: exit 1. */
export function refuseInProcess(command: string): void {
  if (process.env['REEVE_PROC'])
    throw new Failure(1, 'a process of reeve cannot open the page: an agent is not the user', `Run \`${command}\` in your own terminal.`)
}

/** Returns the link to an opened page. The link works once. `path`: the address below the page, such as `p/UUID`. */
export const linkTo = ({ url, code, number }: WebOpenedView, path = ''): string => `${url}${path}#${number === null ? 'k' : 'n'}=${code}`

/**
 * Opens a browser at the link. Null: none can be opened here. There is no screen or no private directory, or the browser is in a sandbox
 * (snap, flatpak) or outside of WSL.
 */
export function openBrowser(link: string, env: Env = process.env): OpenedFile | null {
  const opener = openerOf(env)
  const dir = opener === null ? null : privateDir(env)
  if (opener === null || dir === null) return null
  const file = join(dir, `web-${process.pid}.html`)
  rmSync(file, { force: true })
  writeFileSync(file, redirectPage(link), { mode: 0o600, flag: 'wx' })
  const child = spawn(opener, [`file://${file}`], { stdio: 'ignore', detached: true })
  // A browser that cannot be started is the same as one that does not use the link.
  child.on('error', () => undefined)
  child.unref()
  return { remove: () => rmSync(file, { force: true }) }
}

/** Returns the content of the file: a page that leads to the link. A link is ASCII without quotes: an address and a code. */
function redirectPage(link: string): string {
  return `<!doctype html><meta charset="utf-8"><meta name="referrer" content="no-referrer"><meta http-equiv="refresh" content="0;url=${link}"><title>reeve</title>\n`
}

/** Returns the program that opens a file in the user's browser; null: no browser here could read the file with the link. */
function openerOf(env: Env): string | null {
  if (process.platform === 'darwin') return 'open'
  if (!env['DISPLAY'] && !env['WAYLAND_DISPLAY']) return null
  if (env['WSL_DISTRO_NAME'] || isInWsl()) return null
  const { status, stdout } = spawnSync('xdg-settings', ['get', 'default-web-browser'], { encoding: 'utf8', timeout: BROWSER_NAME_MS })
  return status === 0 && isSandboxed(stdout.trim()) ? null : 'xdg-open'
}

/** Whether the desktop file is that of a snap (`firefox_firefox`) or of a flatpak (`org.mozilla.firefox`). */
export function isSandboxed(desktopFile: string): boolean {
  const name = desktopFile.replace(/\.desktop$/, '')
  return name.includes('_') || /^\w+\.[\w-]+\./.test(name)
}

function isInWsl(): boolean {
  try {
    return /microsoft/i.test(readFileSync('/proc/version', 'utf8'))
  } catch {
    // No /proc: not Linux.
    return false
  }
}

/** Returns the directory of reeve below the user's runtime directory; null: there is none, or other users can reach it. */
function privateDir(env: Env): string | null {
  const runtime = env['XDG_RUNTIME_DIR']
  if (!runtime || !isAbsolute(runtime)) return null
  const dir = join(runtime, 'reeve')
  try {
    mkdirSync(dir, { mode: 0o700, recursive: true })
    const stat = lstatSync(dir)
    return stat.isDirectory() && stat.uid === process.getuid?.() && (stat.mode & 0o077) === 0 ? dir : null
  } catch {
    // The link is printed instead.
    return null
  }
}
