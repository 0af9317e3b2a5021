// A containment manager in its own folder, for tests with real programs. Disposing of the harness kills the remaining programs, and
// checks that the manager has removed its pipes.
import { readdir } from 'node:fs/promises'
import type { Readable } from 'node:stream'
import { openContainmentManager } from '../../../src/drivers/contain/manager.ts'
import type { ContainmentManager, Containment, Program, SpawnRequest } from '../../../src/drivers/contain/containment-contract.ts'
import type { EventLoopTurns } from '../../../src/drivers/common/event-loop-turns.ts'
import { killRemaining, newToken } from '../living-processes.ts'
import { testEnv } from '../env.ts'
import { probeOnce } from '../probe-once.ts'
import { tempDir } from '../tmp.ts'
import type { ContainmentKind } from '../../../src/kernel/model/words.ts'

export const PROCESS_UUID = '01920000-0000-7000-8000-000000000001'

export interface ContainmentHarness extends AsyncDisposable {
  readonly manager: ContainmentManager
  readonly dir: string
  readonly token: string
  readonly logMessages: readonly string[]
  open(kind: ContainmentKind): Promise<Containment>
  request(argv: readonly string[], changes?: Partial<SpawnRequest>): SpawnRequest
}

/** The containment kinds that work here: usually all for root, `pidns` and `group` for an ordinary user. */
export async function findWorkingKinds(): Promise<ContainmentKind[]> {
  await using contained = await openContainmentHarness()
  const kinds = contained.manager.probes.filter((probe) => probe.ok).map((probe) => probe.kind)
  if (!kinds.includes('group')) throw new Error(`group must always work: ${JSON.stringify(contained.manager.probes)}`)
  return kinds
}

export async function openContainmentHarness(timeSlices?: EventLoopTurns): Promise<ContainmentHarness> {
  const tmp = await tempDir()
  const logMessages: string[] = []
  const manager = await openContainmentManager({
    stateDir: tmp.path,
    daemonId: 'test',
    log: (message) => logMessages.push(message),
    probe: probeOnce,
    ...(timeSlices ? { timeSlices } : {}),
  })
  const token = newToken()
  let pid = 0
  return {
    manager,
    token,
    logMessages,
    dir: tmp.path,
    open: (kind) => manager.open(manager.plan(PROCESS_UUID, ++pid, kind), tmp.path),
    request: (argv, changes) => ({ argv, cwd: tmp.path, env: testEnv(tmp.path), stdin: 'null', ...changes }),
    async [Symbol.asyncDispose]() {
      await manager[Symbol.asyncDispose]()
      killRemaining(token)
      const remaining = (await readdir(tmp.path)).filter((name) => name.startsWith('pipes'))
      await tmp[Symbol.asyncDispose]()
      if (remaining.length > 0) throw new Error(`the containment manager left ${remaining.join(', ')}`)
    },
  }
}

/** Reads a whole stream as text. */
export async function readText(stream: Readable): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of stream) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString()
}

/** Resolves when the program has written `word` to stdout. Later output is dropped. */
export async function waitForOutput(program: Program, word: string): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  let text = ''
  program.stdout.on('data', (chunk: Buffer) => {
    text += chunk.toString()
    if (text.includes(word)) resolve()
  })
  program.stdout.once('end', () => reject(new Error(`the program ended without ${word}: ${text}`)))
  await promise
}
