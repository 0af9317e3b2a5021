// Runs the shell commands `verify` and `setup` of a crew in a worktree, with a member's environment, containment and network. Limits their
// time, memory and output. After a command, all its processes are ended. A file records each containment before its command starts. With
// this file, the next daemon ends what a killed daemon left running.
// Tests: test/tables/daemon/crew/jobs/shell-command-runner.test.ts, test/processes/crew/verify.test.ts.
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { StringDecoder } from 'node:string_decoder'
import { isMissing } from '../../../kernel/util/missing-file.ts'
import { KernelError } from '../../../kernel/model/errors.ts'
import type { ContainmentManager, Containment, Program } from '../../../drivers/contain/containment-contract.ts'
import type { ShellCommandRun } from '../../../kernel/model/crew/shell-command-results.ts'
import type { ContainmentIntent } from '../../../kernel/model/process.ts'
import type { Clock } from '../../loop/clock.ts'
import type { Uuid } from '../../../kernel/model/ids.ts'
import type { CrewShellCommand } from '../../../kernel/model/crew/words.ts'
import type { ProcessSpec } from '../../../kernel/model/process-spec.ts'

/** maximum length of the output, in characters; its end is kept */
const MAX_OUTPUT_CHARS = 8_000
/** time between SIGTERM and SIGKILL after the timeout */
const GRACE_MS = 5_000

/** the exit code of a shell that cannot run a command, by the error code of the containment */
const EXIT_CODE_BY_ERROR: Readonly<Record<string, number>> = { COMMAND_NOT_FOUND: 127, NOT_RUNNABLE: 126 }

export interface CrewShellCommandRunnerDeps {
  readonly containments: Pick<ContainmentManager, 'open' | 'plan' | 'recover'>
  /** the daemon's state directory */
  readonly state: string
  readonly tmpDir: string
  readonly newUuid: () => Uuid
  readonly clock: Clock
  readonly log: (message: string, error: unknown) => void
}

export class CrewShellCommandRunner {
  readonly #deps: CrewShellCommandRunnerDeps
  readonly #dir: string

  constructor(deps: CrewShellCommandRunnerDeps) {
    this.#deps = deps
    this.#dir = join(deps.state, 'commands')
  }

  /** Runs a command in the working directory of a spec, as its process would. Errors: the reason of `signal`; errors of the containment. */
  async run(spec: ProcessSpec, { command, timeoutMs }: CrewShellCommand, signal: AbortSignal): Promise<ShellCommandRun> {
    const { containments, newUuid, clock } = this.#deps
    const uuid = newUuid()
    const tmpDir = join(this.#deps.tmpDir, `command-${uuid}`)
    const intent = containments.plan(uuid, 0, spec.containment)
    await mkdir(tmpDir, { recursive: true, mode: 0o700 })
    await this.#record(uuid, intent)
    const containment = await containments.open(intent, tmpDir, spec.capabilities?.network)
    const startedAt = clock.now().mono
    try {
      signal.throwIfAborted()
      containment.limitMemory(spec.limits.memoryBytes ?? null)
      const program = await containment.spawn({ argv: argvOf(command), cwd: spec.cwd, env: spec.env, stdin: 'null' })
      return await this.#waitForEnd(program, containment, { timeoutMs, startedAt, signal })
    } catch (error) {
      const code = error instanceof KernelError ? EXIT_CODE_BY_ERROR[error.code] : undefined
      if (!(error instanceof KernelError) || (code === undefined && error.code !== 'INVALID')) throw error
      return { end: 'unable', code: code ?? null, signal: null, ms: 0, output: error.message, left: 0 }
    } finally {
      const { survivors } = await containment.dispose()
      await rm(tmpDir, { recursive: true, force: true, maxRetries: 2 })
      if (survivors.length === 0) await rm(join(this.#dir, uuid), { force: true })
    }
  }

  async #waitForEnd(
    program: Program,
    containment: Containment,
    { timeoutMs, startedAt, signal }: { readonly timeoutMs: number; readonly startedAt: number; readonly signal: AbortSignal },
  ): Promise<ShellCommandRun> {
    const { clock } = this.#deps
    const tail = new OutputTail()
    let isLate = false
    const stopContainment = (graceMs: number): void => {
      containment
        .stop({ signal: graceMs === 0 ? 'SIGKILL' : 'SIGTERM', graceMs })
        .catch((error: unknown) => this.#deps.log('a command of a crew could not be stopped', error))
    }
    const cancelTimeout = clock.after(timeoutMs, () => {
      isLate = true
      stopContainment(GRACE_MS)
    })
    const abort = (): void => stopContainment(0)
    signal.addEventListener('abort', abort)
    if (signal.aborted) abort()
    try {
      const [{ code, signal: endSignal }] = await Promise.all([program.exited, tail.read(program.stdout), tail.read(program.stderr)])
      signal.throwIfAborted()
      const leftCount = isLate ? 0 : (await containment.members()).length
      return {
        end: isLate ? 'late' : 'exited',
        code: isLate ? null : code,
        signal: endSignal,
        ms: Math.round(clock.now().mono - startedAt),
        output: tail.text(),
        left: leftCount,
      }
    } finally {
      cancelTimeout()
      signal.removeEventListener('abort', abort)
    }
  }

  /** Ends the commands that an earlier daemon left running. */
  async recover(): Promise<void> {
    const { log } = this.#deps
    const names = await readdir(this.#dir).catch((error: unknown): string[] => {
      if (!isMissing(error)) log(`${this.#dir} cannot be read: commands of an earlier daemon may still run`, error)
      return []
    })
    for (const name of names) {
      const file = join(this.#dir, name)
      const text = await readFile(file, 'utf8').catch((error: unknown) => {
        log(`${file} cannot be read: its command may still run`, error)
        return null
      })
      if (text === null) continue
      const intent = parseIntent(text)
      const survivors = intent === null ? [] : (await this.#deps.containments.recover(intent, null)).survivors
      // The record of a survivor stays, so that the next daemon tries again.
      if (survivors.length > 0) log(`a command of a crew survived its kill: ${survivors.join(', ')}`, null)
      else await rm(file, { force: true })
    }
  }

  async #record(uuid: Uuid, intent: ContainmentIntent): Promise<void> {
    await mkdir(this.#dir, { recursive: true, mode: 0o700 })
    const draft = join(this.#dir, `${uuid}.draft`)
    await writeFile(draft, JSON.stringify(intent), { mode: 0o600, flush: true })
    await rename(draft, join(this.#dir, uuid))
  }
}

/** A string runs in a shell, with stderr joined to stdout to keep the order of the output. */
function argvOf(command: CrewShellCommand['command']): readonly string[] {
  return typeof command === 'string' ? ['sh', '-c', `exec 2>&1; ${command}`] : command
}

/** The recorded intent; null for an incomplete file. */
function parseIntent(text: string): ContainmentIntent | null {
  try {
    return JSON.parse(text) as ContainmentIntent
  } catch {
    // The file is incomplete, so its command never started.
    return null
  }
}

/** Terminal escape sequences and unprintable characters. */
const ESCAPES = /\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)|[@-Z\\-_])|[\0-\u0008\u000b-\u001f\u007f]/g

/** Collects the output of two streams, and gives its end as readable text. */
class OutputTail {
  #text = ''
  #isCut = false

  async read(stream: AsyncIterable<unknown>): Promise<void> {
    const decoder = new StringDecoder('utf8')
    for await (const chunk of stream) this.#add(decoder.write(chunk as Buffer))
    this.#add(decoder.end())
  }

  #add(text: string): void {
    this.#text += text
    // More than the limit is kept, because escape sequences are removed later.
    if (this.#text.length <= 4 * MAX_OUTPUT_CHARS) return
    this.#text = this.#text.slice(-2 * MAX_OUTPUT_CHARS)
    this.#isCut = true
  }

  text(): string {
    const all = this.#text.replaceAll('\r\n', '\n').replaceAll(ESCAPES, '').trimEnd()
    if (!this.#isCut && all.length <= MAX_OUTPUT_CHARS) return all.toWellFormed()
    const keptEnd = all.slice(-MAX_OUTPUT_CHARS)
    return `…${keptEnd.slice(keptEnd.indexOf('\n') + 1)}`.toWellFormed()
  }
}
