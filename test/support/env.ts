// The environment of programs in tests: small, the same on every machine, with a reeve home of the test. It passes no
// configuration, key or running daemon of the user to a test.
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const ROOT = fileURLToPath(new URL('../..', import.meta.url))

/** The code under test: the sources, or the bundle that users run, which `npm test` builds. */
export type Form = 'source' | 'bundle'

/** the form of this test run */
export const FORM: Form = process.env['REEVE_TEST_FORM'] === 'bundle' ? 'bundle' : 'source'

/** `home` becomes REEVE_HOME and HOME; `extra` overrides. The Node that runs the tests is first in PATH. */
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
    // On a slow machine any command may wait for two seconds and print what it waits for. Tests of this note set the usual time.
    REEVE_WAIT_NOTE_S: '600',
    // Without this cache hundreds of daemons and commands would compile the same files again.
    NODE_COMPILE_CACHE: join(ROOT, 'node_modules/.cache/reeve-tests'),
    ...extra,
  }
}
