// A container in a folder of its own, for tests with real programs. Disposing it checks that nothing of it is left.
import { readdir } from 'node:fs/promises'
import type { Readable } from 'node:stream'
import { openContainer } from '../../src/drivers/contain/container.ts'
import type { Container, Containment, Program, SpawnRequest } from '../../src/drivers/contain/contain.ts'
import type { ContainmentKind } from '../../src/kernel/types.ts'
import { killLeft, newToken } from './living.ts'
import { testEnv } from './env.ts'
import { tempDir } from './tmp.ts'

export const UUID = '01920000-0000-7000-8000-000000000001'

export interface Contained extends AsyncDisposable {
  readonly container: Container
  readonly dir: string
  readonly token: string
  readonly logged: readonly string[]
  open(kind: ContainmentKind): Promise<Containment>
  request(argv: readonly string[], changes?: Partial<SpawnRequest>): SpawnRequest
}

/** The kinds that work here: as root mostly all, as an ordinary user `pidns` and `group`. */
export async function workingKinds(): Promise<ContainmentKind[]> {
  await using contained = await newContained()
  const kinds = contained.container.probes.filter((probe) => probe.ok).map((probe) => probe.kind)
  if (!kinds.includes('group')) throw new Error(`group must always work: ${JSON.stringify(contained.container.probes)}`)
  return kinds
}

export async function newContained(): Promise<Contained> {
  const tmp = await tempDir()
  const logged: string[] = []
  const container = await openContainer({ stateDir: tmp.path, daemonId: 'test', log: (message) => logged.push(message) })
  const token = newToken()
  let pid = 0
  return {
    container, token, logged, dir: tmp.path,
    open: (kind) => container.open(container.plan(UUID, ++pid, kind), tmp.path),
    request: (argv, changes) => ({ argv, cwd: tmp.path, env: testEnv(tmp.path), stdin: 'null', ...changes }),
    async [Symbol.asyncDispose]() {
      await container[Symbol.asyncDispose]()
      killLeft(token)
      const left = (await readdir(tmp.path)).filter((name) => name.startsWith('pipes'))
      await tmp[Symbol.asyncDispose]()
      if (left.length > 0) throw new Error(`the container left ${left.join(', ')}`)
    },
  }
}

/** All of a stream as text. */
export async function textOf(stream: Readable): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of stream) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString()
}

/** Resolves when the program has written `word` to stdout. The stream goes on and what comes is dropped. */
export async function announced(program: Program, word: string): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  let text = ''
  program.stdout.on('data', (chunk: Buffer) => {
    text += chunk.toString()
    if (text.includes(word)) resolve()
  })
  program.stdout.once('end', () => reject(new Error(`the program ended without ${word}: ${text}`)))
  await promise
}
