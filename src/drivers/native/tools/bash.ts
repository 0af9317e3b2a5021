// The tool `bash`: a command in a shell, owned by the agent's containment. Waits for the shell, never for what it left in
// the background; a time limit or an interruption ends the shell's group. Test: test/e2e/native-bash.test.ts.
import type { Readable } from 'node:stream'
import { StringDecoder } from 'node:string_decoder'
import { finished } from 'node:stream/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import { KernelError } from '../../../kernel/errors.ts'
import type { Program, ProgramExit } from '../../contain/contain.ts'
import { Clip } from './clip.ts'
import { ToolError, defineTool } from './tool.ts'
import type { ToolContext } from './tool.ts'

const DEFAULT_TIMEOUT_MS = 120_000
const MAX_TIMEOUT_MS = 3_600_000
/** From asking the group to end to killing it. */
const KILL_GRACE_MS = 300
/** How long output is awaited after the shell ended: others may hold its pipe open. */
const DRAIN_MS = 250
/** Where commands are looked for when the recorded environment has no PATH. */
const DEFAULT_PATH = '/usr/local/bin:/usr/bin:/bin'

const SHELLS = ['bash', 'sh'] as const

type End = { readonly kind: 'exited'; readonly exit: ProgramExit } | { readonly kind: 'timeout' | 'interrupted' | 'ending' }

export const bash = defineTool({
  name: 'bash',
  description: 'Runs a command in a shell, in the working directory, without input. Background programs live on until the agent ends.',
  effect: 'once',
  input: z.strictObject({
    command: z.string().min(1),
    timeout_ms: z.int().positive().max(MAX_TIMEOUT_MS).default(DEFAULT_TIMEOUT_MS),
  }),
  async run(input, at) {
    const program = await spawnShell(input.command, at)
    const output = new Clip()
    const read = Promise.all([pump(program.stdout, output, at), pump(program.stderr, output, at)])
    const end = await awaitEnd(program, input.timeout_ms, at)
    if (end.kind === 'ending') throw new ToolError('the agent ends')
    if (end.kind !== 'exited') await killGroup(program)
    await Promise.race([read, sleep(DRAIN_MS, undefined, { ref: false })])
    const text = output.text()
    if (end.kind === 'exited') return `${text}${text === '' || text.endsWith('\n') ? '' : '\n'}[${describe(end.exit)}]`
    if (end.kind === 'timeout') throw new ToolError(`timed out after ${input.timeout_ms} ms and was ended\n${text}`)
    throw new ToolError(`ended by an interruption\n${text}`)
  },
})

async function spawnShell(command: string, at: ToolContext): Promise<Program> {
  const env = { PATH: DEFAULT_PATH, ...at.env }
  let refused: unknown
  for (const shell of SHELLS) {
    at.signal.throwIfAborted()
    try {
      return await at.containment.spawn({ argv: [shell, '-c', command], cwd: at.cwd, env, stdin: 'null' })
    } catch (error) {
      if (!(error instanceof KernelError)) throw error
      refused = error
    }
  }
  throw refused
}

/** Reads to the end, also after the call is over: a background program must not block on a full pipe. */
async function pump(stream: Readable, output: Clip, at: ToolContext): Promise<void> {
  const decoder = new StringDecoder('utf8')
  const take = (text: string): void => {
    if (text === '') return
    output.push(text)
    at.output(text)
  }
  stream.on('data', (chunk: Buffer) => take(decoder.write(chunk)))
  await finished(stream, { writable: false }).catch(() => undefined)
  take(decoder.end())
}

async function awaitEnd(program: Program, timeoutMs: number, at: ToolContext): Promise<End> {
  const { promise, resolve } = Promise.withResolvers<End>()
  const abort = (): void => resolve({ kind: at.ending.aborted ? 'ending' : 'interrupted' })
  const disarm = at.freezer.deadline(timeoutMs, () => resolve({ kind: 'timeout' }))
  at.signal.addEventListener('abort', abort)
  if (at.signal.aborted) abort()
  try {
    return await Promise.race([promise, program.exited.then((exit): End => ({ kind: 'exited', exit }))])
  } finally {
    disarm()
    at.signal.removeEventListener('abort', abort)
  }
}

/** Asks the shell's group to end, and kills it if the shell is deaf. What outlives its shell is the containment's. */
async function killGroup(program: Program): Promise<void> {
  program.signal('SIGTERM')
  const timer = new AbortController()
  await Promise.race([program.exited, sleep(KILL_GRACE_MS, undefined, { signal: timer.signal })])
  timer.abort()
  program.signal('SIGKILL')
  await program.exited
}

function describe(exit: ProgramExit): string {
  return exit.signal === null ? `exit code ${exit.code ?? 'unknown'}` : `ended by ${exit.signal}`
}
