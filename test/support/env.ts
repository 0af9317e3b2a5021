// The environment that tests give to programs: small, the same on every machine, with a reeve home of the test's own.
// Nothing of the person's own configuration, keys or running daemon can reach a test through it.
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const ROOT = fileURLToPath(new URL('../..', import.meta.url))

/** The sources are what is there now; the bundle is what users run, and must have been built: `npm test` does. */
export type Form = 'source' | 'bundle'

/** What programs are run from where a test does not say. */
export const FORM: Form = process.env['REEVE_TEST_FORM'] === 'bundle' ? 'bundle' : 'source'

/** `home` becomes REEVE_HOME and HOME; `extra` is put on top. The Node that runs the tests is first in PATH. */
export function testEnv(home: string, extra: Readonly<Record<string, string>> = {}): Record<string, string> {
  const path = [dirname(process.execPath), '/usr/local/bin', '/usr/bin', '/bin', '/usr/sbin', '/sbin']
  return {
    PATH: path.join(delimiter),
    HOME: home,
    REEVE_HOME: home,
    TMPDIR: tmpdir(),
    LANG: 'C.UTF-8',
    TERM: 'dumb',
    NO_COLOR: '1',
    // Hundreds of daemons and commands are started: each would compile the same files anew.
    NODE_COMPILE_CACHE: join(ROOT, 'node_modules/.cache/reeve-tests'),
    ...extra,
  }
}
