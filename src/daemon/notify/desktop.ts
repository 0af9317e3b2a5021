// Shows a notice on the desktop of this machine with the program `notify-send`, or `osascript` on macOS. The program is started by the
// caller's `run`, in a containment. Test: test/processes/daemon/notify-desktop.test.ts.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { resolveProgram } from '../../drivers/contain/resolve-program.ts'
import type { RunProgram } from '../host/run-program.ts'
import type { Notice } from './notices.ts'
import type { DeliveryResult } from './outbox.ts'

const IS_MACOS = process.platform === 'darwin'

/** A command that shows a notice, for users who look for the reason of a failure. */
export const TRIAL_COMMAND = IS_MACOS ? `osascript -e 'display notification "test"'` : 'notify-send test'

/** The title of each kind of notice. */
const TITLES: Readonly<Record<Notice['kind'], string>> = {
  waiting: 'reeve: an agent waits for you',
  finished: 'reeve: finished',
  failed: 'reeve: failed',
  stalled: 'reeve: an agent makes no progress',
  budget: 'reeve: budget',
  session: 'reeve: a new browser session',
}

/** Returns the command line that shows a notice. */
function argvOf({ kind, text }: Pick<Notice, 'kind' | 'text'>): readonly string[] {
  const title = TITLES[kind]
  if (IS_MACOS)
    return [
      'osascript',
      '-e',
      'on run argv',
      '-e',
      'display notification (item 2 of argv) with title (item 1 of argv)',
      '-e',
      'end run',
      '--',
      title,
      text,
    ]
  // Some desktops read the text as markup.
  const escaped = text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
  return [
    'notify-send',
    '--app-name=reeve',
    ...(kind === 'waiting' || kind === 'failed' || kind === 'session' ? ['--urgency=critical'] : []),
    '--',
    title,
    escaped,
  ]
}

/** Shows a notice. A failure is not retried. */
export async function showOnDesktop(notice: Pick<Notice, 'kind' | 'text'>, run: RunProgram): Promise<DeliveryResult> {
  const obstacle = desktopObstacle()
  if (obstacle !== null) return { ok: false, why: obstacle.why, retry: false }
  const { code } = await run(argvOf(notice))
  return code === 0 ? { ok: true } : { ok: false, why: `the program ended with exit code ${code}`, retry: false }
}

/** Returns why no notice can be shown on this machine, and what helps; null if no obstacle is known. */
export function desktopObstacle(): { readonly why: string; readonly remedy: string } | null {
  const env = process.env as Record<string, string>
  const [program = ''] = argvOf({ kind: 'finished', text: '' })
  try {
    resolveProgram({ argv: [program], cwd: '/', env, stdin: 'null' })
  } catch {
    return {
      why: `${program} is not installed`,
      remedy: IS_MACOS
        ? 'put /usr/bin, which has osascript, into the PATH of the daemon'
        : 'install the package libnotify-bin, which has notify-send',
    }
  }
  const runtime = env['XDG_RUNTIME_DIR']
  const hasBus = env['DBUS_SESSION_BUS_ADDRESS'] !== undefined || (runtime !== undefined && existsSync(join(runtime, 'bus')))
  if (IS_MACOS || hasBus) return null
  return {
    why: 'the daemon has no session bus: it was started outside of a desktop session',
    remedy: 'run `reeve daemon restart` in a terminal of your desktop',
  }
}
