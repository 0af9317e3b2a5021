// The siege of the first promise: trees of ten runaways in a kind of containment, as a user, ended in one of five ways; then who
// is left is counted, by a number in the arguments, without the code under test. For the tests ten, for the soak many more.
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chown } from 'node:fs/promises'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { canDelegate, delegateTo } from './delegated.ts'
import { testEnv } from './env.ts'
import { eventually, killLeft, livingWith, newToken, sleepersWith, TORTURE_SLEEPERS } from './living.ts'
import { tempDir } from './tmp.ts'

/** `kill` is SIGKILL, `stop` SIGTERM with 300 ms, `end` and `crash` those of the main program, `daemon` the daemon's own by SIGKILL. */
export type Ending = 'kill' | 'stop' | 'end' | 'crash' | 'daemon'
export const ENDINGS: readonly Ending[] = ['kill', 'stop', 'end', 'crash', 'daemon']
export type Who = 'root' | 'an ordinary user'

export interface Siege {
  readonly kind: 'cgroup' | 'pidns'
  readonly who: Who
  readonly ending: Ending
  readonly trees: number
}

const PROGRAM = fileURLToPath(new URL('programs/torturer.ts', import.meta.url))
const NOBODY = 65_534
const BECOME = ['setpriv', '--reuid', String(NOBODY), '--regid', String(NOBODY), '--clear-groups']
const PER_TREE = TORTURE_SLEEPERS + 1

/** Which of the four can be done here; the sources, and this very Node, may lie where nobody else may look. */
export function canBesiege({ kind, who }: Pick<Siege, 'kind' | 'who'>): boolean {
  const isRoot = process.geteuid?.() === 0
  if (who === 'root') return isRoot && (kind === 'cgroup' ? canDelegate() : runs('unshare', '--pid', '--fork', '--mount-proc', 'true'))
  if (!isRoot) return kind === 'pidns' && runs('unshare', '--map-current-user', '--pid', '--fork', '--mount-proc', 'true')
  if (!runs(...BECOME, process.execPath, '--check', PROGRAM)) return false
  return kind === 'cgroup' ? canDelegate() : runs(...BECOME, 'unshare', '--map-current-user', '--pid', '--fork', '--mount-proc', 'true')
}

function runs(...[program = '', ...args]: readonly string[]): boolean {
  return spawnSync(program, args).status === 0
}

/** Resolves with how long it took from the ending until nobody was left, in ms. Errors: somebody was after 20 s. */
export async function besiege({ kind, who, ending, trees }: Siege): Promise<number> {
  await using dir = await tempDir()
  const isOther = who !== 'root' && process.geteuid?.() === 0
  if (isOther) await chown(dir.path, NOBODY, NOBODY)
  await using delegated = isOther && kind === 'cgroup' ? delegateTo(NOBODY) : null
  const token = newToken()
  const [program = '', ...words] = [...(delegated?.entering ?? []), ...(isOther ? BECOME : []), process.execPath, PROGRAM, dir.path, kind, token, String(trees), ending]
  const child = spawn(program, words, { env: testEnv(dir.path), stdio: ['pipe', 'pipe', 'inherit'] })
  const exited = once(child, 'exit')
  const lines = createInterface(child.stdout)
  const said = (word: string): Promise<void> => Promise.race([
    once(lines, 'line').then(([line]) => { if (line !== word) throw new Error(`it said ${line}`) }),
    exited.then(() => { throw new Error(`it ended before it said ${word}`) }),
  ])
  try {
    await said('planted')
    await eventually(() => sleepersWith(token).length === trees * PER_TREE, `${trees} trees stand`)
    const begun = performance.now()
    if (ending === 'daemon') child.kill('SIGKILL')
    else child.stdin.write('go\n')
    await (ending === 'daemon' ? exited : said('done'))
    await eventually(() => livingWith(token).filter(({ argv }) => !argv.includes(PROGRAM)).length === 0, 'the end of all trees')
    const tookMs = performance.now() - begun
    child.stdin.end()
    await exited
    return tookMs
  } finally {
    child.kill('SIGKILL')
    killLeft(token)
  }
}
