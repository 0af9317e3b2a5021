// The stress test of containment: trees of ten processes that try to escape, in one kind of containment. The trees run as root or as an
// ordinary user, and end in one of five ways. Survivors are counted by a token in their arguments, without the code under test. Used by
// test/processes/contain/torture.test.ts, and with more trees by scripts/soak.ts.
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chown } from 'node:fs/promises'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { canDelegate, createDelegatedCgroup } from '../agents/delegated-cgroup.ts'
import { testEnv } from '../env.ts'
import { killRemaining, findProcessesWith, newToken, findSleepersWith, TORTURE_SLEEPERS } from '../living-processes.ts'
import { waitUntil } from '../wait-until.ts'
import { tempDir } from '../tmp.ts'

/**
 * How the trees end. `kill`: by SIGKILL; `stop`: by SIGTERM with a grace of 300 ms; `end`: the main program exits; `crash`: the main
 * program fails; `daemon`: the daemon is killed.
 */
export type Ending = 'kill' | 'stop' | 'end' | 'crash' | 'daemon'
export const ENDINGS: readonly Ending[] = ['kill', 'stop', 'end', 'crash', 'daemon']
export type TortureUser = 'root' | 'an ordinary user'

export interface TortureOptions {
  readonly kind: 'cgroup' | 'pidns'
  readonly user: TortureUser
  readonly ending: Ending
  readonly trees: number
}

const PROGRAM = fileURLToPath(new URL('../programs/torture-trees.ts', import.meta.url))
const NOBODY = 65_534
const AS_NOBODY = ['setpriv', '--reuid', String(NOBODY), '--regid', String(NOBODY), '--clear-groups']
const SLEEPERS_PER_TREE = TORTURE_SLEEPERS + 1

/** Whether this combination works here: an ordinary user may be unable to read the sources or this Node. */
export function canRunTortureTrees({ kind, user }: Pick<TortureOptions, 'kind' | 'user'>): boolean {
  const isRoot = process.geteuid?.() === 0
  if (user === 'root') return isRoot && (kind === 'cgroup' ? canDelegate() : succeeds('unshare', '--pid', '--fork', '--mount-proc', 'true'))
  if (!isRoot) return kind === 'pidns' && succeeds('unshare', '--map-current-user', '--pid', '--fork', '--mount-proc', 'true')
  if (!succeeds(...AS_NOBODY, process.execPath, '--check', PROGRAM)) return false
  return kind === 'cgroup'
    ? canDelegate()
    : succeeds(...AS_NOBODY, 'unshare', '--map-current-user', '--pid', '--fork', '--mount-proc', 'true')
}

function succeeds(...[program = '', ...args]: readonly string[]): boolean {
  return spawnSync(program, args).status === 0
}

/** Starts the trees and ends them. Returns the time in ms until no process was left. Throws if a process is left after 20 s. */
export async function endTortureTrees({ kind, user: who, ending, trees }: TortureOptions): Promise<number> {
  await using dir = await tempDir()
  const runsAsNobody = who !== 'root' && process.geteuid?.() === 0
  if (runsAsNobody) await chown(dir.path, NOBODY, NOBODY)
  await using delegated = runsAsNobody && kind === 'cgroup' ? createDelegatedCgroup(NOBODY) : null
  const token = newToken()
  const [program = '', ...args] = [
    ...(delegated?.commandPrefix ?? []),
    ...(runsAsNobody ? AS_NOBODY : []),
    process.execPath,
    PROGRAM,
    dir.path,
    kind,
    token,
    String(trees),
    ending,
  ]
  const child = spawn(program, args, { env: testEnv(dir.path), stdio: ['pipe', 'pipe', 'inherit'] })
  const exited = once(child, 'exit')
  const lines = createInterface(child.stdout)
  const waitForLine = (word: string): Promise<void> =>
    Promise.race([
      once(lines, 'line').then(([line]) => {
        if (line !== word) throw new Error(`the program printed ${line}`)
      }),
      exited.then(() => {
        throw new Error(`the program ended before it printed ${word}`)
      }),
    ])
  try {
    await waitForLine('planted')
    await waitUntil(() => findSleepersWith(token).length === trees * SLEEPERS_PER_TREE, `all processes of ${trees} trees run`)
    const beganMs = performance.now()
    if (ending === 'daemon') child.kill('SIGKILL')
    else child.stdin.write('go\n')
    await (ending === 'daemon' ? exited : waitForLine('done'))
    await waitUntil(() => findProcessesWith(token).filter(({ argv }) => !argv.includes(PROGRAM)).length === 0, 'the end of all trees')
    const tookMs = performance.now() - beganMs
    child.stdin.end()
    await exited
    return tookMs
  } finally {
    child.kill('SIGKILL')
    killRemaining(token)
  }
}
