// A notice on the desktop of this machine: `notify-send`, or `osascript` on macOS, as argv. Owns the command lines; starting
// programs is the containment's. Test: test/e2e/notifications.test.ts.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { resolveProgram } from '../../drivers/contain/resolve.ts'
import type { RunProgram } from '../run-program.ts'
import type { Notice } from './notices.ts'
import type { Sent } from './outbox.ts'

const MAC = process.platform === 'darwin'

/** What a person looks at first; the rest is below it. */
const TITLES: Readonly<Record<Notice['kind'], string>> = {
  waiting: 'reeve: an agent waits for you', finished: 'reeve: finished', failed: 'reeve: failed', stalled: 'reeve: an agent does not get on', budget: 'reeve: budget',
}

function argvOf({ kind, text }: Pick<Notice, 'kind' | 'text'>): readonly string[] {
  const title = TITLES[kind]
  if (MAC) return ['osascript', '-e', 'on run argv', '-e', 'display notification (item 2 of argv) with title (item 1 of argv)', '-e', 'end run', '--', title, text]
  // The text is markup to some desktops.
  const escaped = text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
  return ['notify-send', '--app-name=reeve', ...(kind === 'waiting' || kind === 'failed' ? ['--urgency=critical'] : []), '--', title, escaped]
}

export async function show(notice: Notice, run: RunProgram): Promise<Sent> {
  const obstacle = desktopObstacle()
  if (obstacle !== null) return { ok: false, why: obstacle, retry: false }
  const { code } = await run(argvOf(notice))
  return code === 0 ? { ok: true } : { ok: false, why: `it ended with exit code ${code}`, retry: false }
}

/** Why nothing can be shown here; null: it looks as if it could. */
export function desktopObstacle(): string | null {
  const env = process.env as Record<string, string>
  const [program = ''] = argvOf({ kind: 'finished', text: '' })
  try {
    resolveProgram({ argv: [program], cwd: '/', env, stdin: 'null' })
  } catch {
    return `${program} is not installed`
  }
  const runtime = env['XDG_RUNTIME_DIR']
  const hasBus = env['DBUS_SESSION_BUS_ADDRESS'] !== undefined || (runtime !== undefined && existsSync(join(runtime, 'bus')))
  return MAC || hasBus ? null : 'the daemon has no session bus: it was started outside of a desktop session'
}
