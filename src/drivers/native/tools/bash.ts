// The tool `bash`: runs a command in a shell, inside of the agent's containment. Waits for the shell, never for its background
// programs. A time limit or an interruption ends the process group of the shell.
// Test: test/processes/native/bash.test.ts.
import type { Readable } from 'node:stream'
import { StringDecoder } from 'node:string_decoder'
import { finished } from 'node:stream/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import { KernelError } from '../../../kernel/model/errors.ts'
import { naturalExit } from '../../../kernel/model/exit.ts'
import type { Program, ProgramExit } from '../../contain/containment-contract.ts'
import { describeExit } from '../../common/describe-exit.ts'
import { TruncatingBuffer } from '../../common/truncate-middle.ts'
import { ToolError } from './tool-error.ts'
import { defineTool } from './tool.ts'
import type { ToolContext, ToolOutput } from './tool.ts'

const DEFAULT_TIMEOUT_MS = 120_000
const MAX_TIMEOUT_MS = 3_600_000
/** The time between SIGTERM and SIGKILL to the shell's process group, in ms. */
const KILL_GRACE_MS = 300
/** The longest wait for output after the shell has exited, in ms. Background programs may keep its pipe open. */
const DRAIN_MS = 250
/** The PATH of commands when the recorded environment has none. */
const DEFAULT_PATH = '/usr/local/bin:/usr/bin:/bin'

const SHELLS = ['bash', 'sh'] as const

/** Why the wait for the shell ended. */
type ShellEnd = { readonly kind: 'exited'; readonly exit: ProgramExit } | { readonly kind: 'timeout' | 'interrupted' | 'ending' }

export const bash = defineTool({
  name: 'bash',
  description:
    'Runs a command in a shell in the working directory, with empty stdin. Background programs keep running until the agent ends.',
  effect: 'once',
  input: z.strictObject({
    command: z.string().min(1),
    timeout_ms: z.int().positive().max(MAX_TIMEOUT_MS).default(DEFAULT_TIMEOUT_MS),
  }),
  async run(input, context) {
    const program = await spawnShell(input.command, context)
    const output = new TruncatingBuffer()
    const outputRead = Promise.all([collectOutput(program.stdout, output, context), collectOutput(program.stderr, output, context)])
    const end = await waitForEnd(program, input.timeout_ms, context)
    if (end.kind === 'ending') throw new ToolError('the agent is ending')
    if (end.kind !== 'exited') await killGroup(program)
    await Promise.race([outputRead, sleep(DRAIN_MS, undefined, { ref: false })])
    const text = output.text()
    if (end.kind === 'exited') return resultOf(text, end.exit)
    if (end.kind === 'timeout') throw new ToolError(`the command timed out after ${input.timeout_ms} ms and was ended\n${text}`)
    throw new ToolError(`the command was ended by an interruption\n${text}`)
  },
})

async function spawnShell(command: string, context: ToolContext): Promise<Program> {
  const env = { PATH: DEFAULT_PATH, ...context.env }
  let spawnError: unknown
  for (const shell of SHELLS) {
    context.signal.throwIfAborted()
    try {
      return await context.containment.spawn({ argv: [shell, '-c', command], cwd: context.cwd, env, stdin: 'null' })
    } catch (error) {
      if (!(error instanceof KernelError)) throw error
      spawnError = error
    }
  }
  throw spawnError
}

/** Reads the stream to its end, even after the call, so that no background program blocks on a full pipe. */
async function collectOutput(stream: Readable, output: TruncatingBuffer, context: ToolContext): Promise<void> {
  const decoder = new StringDecoder('utf8')
  const addText = (text: string): void => {
    if (text === '') return
    output.push(text)
    context.output(text)
  }
  stream.on('data', (chunk: Buffer) => addText(decoder.write(chunk)))
  // `finished` rejects after a broken pipe, which also ends the output.
  await finished(stream, { writable: false }).catch(() => undefined)
  addText(decoder.end())
}

async function waitForEnd(program: Program, timeoutMs: number, context: ToolContext): Promise<ShellEnd> {
  const { promise, resolve } = Promise.withResolvers<ShellEnd>()
  const abort = (): void => resolve({ kind: context.endSignal.aborted ? 'ending' : 'interrupted' })
  const cancelTimeout = context.timers.start(timeoutMs, () => resolve({ kind: 'timeout' }))
  context.signal.addEventListener('abort', abort)
  if (context.signal.aborted) abort()
  try {
    return await Promise.race([promise, program.exited.then((exit): ShellEnd => ({ kind: 'exited', exit }))])
  } finally {
    cancelTimeout()
    context.signal.removeEventListener('abort', abort)
  }
}

/** Sends SIGTERM and then SIGKILL to the shell's process group. The containment ends every program that survives. */
async function killGroup(program: Program): Promise<void> {
  program.signal('SIGTERM')
  const timer = new AbortController()
  await Promise.race([program.exited, sleep(KILL_GRACE_MS, undefined, { signal: timer.signal })])
  timer.abort()
  program.signal('SIGKILL')
  await program.exited
}

function resultOf(text: string, exit: ProgramExit): ToolOutput {
  const { code } = naturalExit({ type: 'exited', code: exit.code, osSignal: exit.signal })
  return { text: `${text}${text === '' || text.endsWith('\n') ? '' : '\n'}[${describeExit(exit)}]`, images: [], exitCode: code }
}
