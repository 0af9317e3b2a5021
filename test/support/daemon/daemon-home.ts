// A real daemon in its own home. A test starts it as a program, calls its socket, ends it with SIGKILL or SIGTERM, and starts it
// again. Remaining programs are found through /proc and the cgroup tree, without the daemon's code. Disposing of a home ends all its
// programs, even after a failed test.
import { spawn, type ChildProcess } from 'node:child_process'
import { closeSync, existsSync, mkdirSync, openSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { ApiError } from '../../../src/api/client/api-error.ts'
import { Client } from '../../../src/api/client/client.ts'
import { clientSocket, pathsFrom, prepareState } from '../../../src/config/paths.ts'
import { homeTag } from '../../../src/drivers/contain/marker.ts'
import type { DaemonView, EventView } from '../../../src/api/views/daemon.ts'
import type { PauseBody, ProcessView, ResumeBody, SignalBody, SpawnBody, SteerView } from '../../../src/api/views/process.ts'
import type { ScriptItem } from '../../../src/drivers/native/scripts/script-file.ts'
import { FORM, ROOT, testEnv, type Form } from '../env.ts'
import { startCleanupScript, type CleanupScript } from './cleanup-script.ts'
import { killIfAlive, findProcessesWith, readProcess, type LivingProcess } from '../living-processes.ts'
import { waitUntil } from '../wait-until.ts'
import { tempDir, type TempDir } from '../tmp.ts'

const ENTRY: Readonly<Record<Form, string>> = { source: join(ROOT, 'src/daemon/main.ts'), bundle: join(ROOT, 'dist/daemon.js') }
const SHIFTED_CLOCK = join(ROOT, 'test/support/programs/shifted-clock.ts')
const START_MS = 90_000
const POLL_MS = 15
const WAIT_MS = 50_000

export interface DaemonExit {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

export interface DaemonChild {
  readonly pid: number
  readonly ended: Promise<DaemonExit>
  /** its output on stderr */
  stderr(): string
}

/** An answer of a model script; omitted fields have their defaults. */
export type ScriptAnswer = Partial<ScriptItem> | { readonly tools: readonly { readonly name: string; readonly input: object }[] }

export class DaemonHome implements AsyncDisposable {
  /** REEVE_HOME */
  readonly path: string
  /** the working directory of agents */
  readonly work: string
  readonly client: Client
  readonly #tmp: TempDir
  readonly #form: Form
  readonly #cleanupScript: CleanupScript
  readonly #children: { readonly child: ChildProcess; readonly ended: Promise<DaemonExit> }[] = []
  /** guardians of earlier daemons */
  readonly #guardians: LivingProcess[] = []
  #fileCount = 0

  private constructor(tmp: TempDir, form: Form) {
    this.#tmp = tmp
    this.#form = form
    this.#cleanupScript = startCleanupScript(tmp.path)
    this.path = join(tmp.path, 'home')
    this.work = join(tmp.path, 'work')
    mkdirSync(this.work)
    this.client = new Client({ socketPath: () => clientSocket(this.paths) })
  }

  static async create(form: Form = FORM): Promise<DaemonHome> {
    if (!existsSync(ENTRY[form])) throw new Error(`${ENTRY[form]} does not exist: run \`npm run build\``)
    return new DaemonHome(await tempDir(), form)
  }

  get paths(): ReturnType<typeof pathsFrom> {
    return pathsFrom(testEnv(this.path))
  }

  get pid(): number {
    const pid = this.#children.at(-1)?.child.pid
    if (pid === undefined) throw new Error('no daemon was started')
    return pid
  }

  /** Starts a daemon without waiting for it. */
  launch(): DaemonChild {
    prepareState(this.paths)
    const file = join(this.#tmp.path, `stderr-${++this.#fileCount}`)
    const stderr = openSync(file, 'w')
    const env = { ...testEnv(this.path), REEVE_TEST_CLOCK: this.#clockFile }
    const child = spawn(process.execPath, ['--import', SHIFTED_CLOCK, ENTRY[this.#form]], {
      cwd: '/',
      env,
      stdio: ['ignore', 'ignore', stderr],
    })
    closeSync(stderr)
    const ended = new Promise<DaemonExit>((resolve, reject) => {
      child.once('error', reject)
      child.once('exit', (code, signal) => resolve({ code, signal }))
    })
    this.#children.push({ child, ended })
    this.#cleanupScript.setDaemon(child.pid ?? null)
    if (child.pid === undefined) throw new Error('the daemon could not be spawned')
    return { pid: child.pid, ended, stderr: () => readFileSync(file, 'utf8') }
  }

  /** Starts a daemon and waits until it answers. */
  async start(): Promise<DaemonView> {
    const child = this.launch()
    const deadline = performance.now() + START_MS
    for (;;) {
      const view = await this.#tryToReadView()
      if (view?.pid === child.pid) return view
      if (readProcess(child.pid) === null)
        throw new Error(`the daemon ended: ${JSON.stringify(await child.ended)} ${child.stderr()}${this.readLog()}`)
      if (performance.now() > deadline) throw new Error(`the daemon does not answer after ${START_MS} ms: ${this.readLog()}`)
      await sleep(POLL_MS)
    }
  }

  /** Kills the daemon with SIGKILL in any state; resolves when it has been reaped. */
  async kill(): Promise<void> {
    this.#guardians.push(...this.findGuardians())
    await this.#end('SIGKILL')
  }

  /** Sends SIGTERM without waiting for the exit. */
  askToStop(): void {
    this.#children.at(-1)?.child.kill('SIGTERM')
  }

  /** Sends SIGTERM; resolves with the daemon's exit. */
  async stop(): Promise<DaemonExit> {
    this.#guardians.push(...this.findGuardians())
    return this.#end('SIGTERM')
  }

  /** Stops the daemon with SIGSTOP for a while, as if the machine slept. */
  async freezeFor(ms: number): Promise<void> {
    const child = this.#children.at(-1)?.child
    child?.kill('SIGSTOP')
    await sleep(ms)
    child?.kill('SIGCONT')
  }

  /** Shifts the daemon's wall clock by this offset from now on, including later starts. */
  shiftClock(ms: number): void {
    writeFileSync(this.#clockFile, String(Math.round(ms)))
  }

  get #clockFile(): string {
    return join(this.#tmp.path, 'clock-offset-ms')
  }

  readLog(): string {
    return existsSync(this.paths.logFile) ? readFileSync(this.paths.logFile, 'utf8') : ''
  }

  // ——— requests

  /** Writes a script, and returns the name of its model. */
  writeScript(items: readonly ScriptAnswer[]): string {
    const file = join(this.#tmp.path, `script-${++this.#fileCount}.yaml`)
    writeFileSync(file, JSON.stringify(items))
    return `script:${file}`
  }

  async spawn(body: Partial<SpawnBody>): Promise<ProcessView> {
    const request: SpawnBody = {
      cwd: this.work,
      env: testEnv(this.work),
      ...(body.argv || body.supervisor ? {} : { intent: 'work' }),
      ...body,
    }
    return (await this.client.post<{ process: ProcessView }>('/v1/processes', request)).process
  }

  async listProcesses(): Promise<ProcessView[]> {
    return (await this.client.get<{ processes: ProcessView[] }>('/v1/processes', { all: true, limit: 10_000 })).processes
  }

  async view(ref: string): Promise<ProcessView> {
    return (await this.client.get<{ process: ProcessView }>(`/v1/processes/${ref}`)).process
  }

  async resume(ref: string, body: ResumeBody = {}): Promise<ProcessView> {
    return (await this.client.post<SteerView>(`/v1/processes/${ref}/resume`, body)).process
  }

  async pause(ref: string, body: PauseBody = {}): Promise<ProcessView> {
    return (await this.client.post<SteerView>(`/v1/processes/${ref}/pause`, body)).process
  }

  async signal(ref: string, body: SignalBody): Promise<ProcessView> {
    return (await this.client.post<SteerView>(`/v1/processes/${ref}/signal`, body)).process
  }

  /** Waits until the process has ended. `waits`: the number of waits, each of up to 50 s. */
  async waitForEnd(ref: string, waits = 2): Promise<ProcessView> {
    const query = { for: 'exited', timeoutMs: WAIT_MS }
    for (let left = waits - 1; ; left -= 1) {
      const { process, timedOut } = await this.client.get<{ process: ProcessView; timedOut: boolean }>(`/v1/processes/${ref}/wait`, query, {
        extraMs: WAIT_MS,
      })
      if (!timedOut) return process
      if (left <= 0)
        throw new Error(
          `process ${process.pid} is ${process.status} at step ${process.step} after ${waits * WAIT_MS} ms: ${this.readLog()}`,
        )
    }
  }

  /** Waits until the view of the process matches. */
  async waitForView(ref: string, isMatch: (view: ProcessView) => boolean): Promise<ProcessView> {
    const deadline = performance.now() + START_MS
    for (;;) {
      const view = await this.view(ref)
      if (isMatch(view)) return view
      if (performance.now() > deadline)
        throw new Error(`process ${view.pid} never matched: ${isMatch.toString()} ${JSON.stringify(view)} ${this.readLog()}`)
      await sleep(POLL_MS)
    }
  }

  /** Reads all events so far from the API, or those after a cursor. */
  async readEvents(after = 0): Promise<EventView[]> {
    const events: EventView[] = []
    for await (const event of this.client.events('/v1/events', { query: { after } })) events.push(event)
    return events
  }

  // ——— remaining programs

  /** Finds the living programs of the daemon's processes, by their environment and in the daemon's cgroups. */
  findLeftovers(): number[] {
    const marked = numberedFilesIn('/proc').filter((pid) => this.#isMarked(pid))
    const inCgroups = this.#cgroups().flatMap((dir) => readLines(join(dir, 'cgroup.procs')).map(Number))
    return [...new Set([...marked, ...inCgroups])].filter((pid) => readProcess(pid) !== null)
  }

  /** Finds the guardians of the running daemon. */
  findGuardians(): LivingProcess[] {
    const daemonPids = new Set(this.#children.map(({ child }) => child.pid))
    return findProcessesWith('reeve-guardian').filter(({ ppid }) => daemonPids.has(ppid))
  }

  /** Waits, after the end of a daemon, until no program, guardian or cgroup of it remains. */
  async waitUntilNothingIsLeft(): Promise<void> {
    await waitUntil(() => this.findLeftovers().length === 0, 'no program is left')
    await waitUntil(
      () => this.#guardians.every(({ pid, startTicks }) => readProcess(pid)?.startTicks !== startTicks),
      'no guardian is left',
    )
    await waitUntil(() => this.#cgroups().length === 0, 'no cgroup is left')
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#end('SIGKILL')
    await waitUntil(() => {
      const left = this.findLeftovers()
      for (const pid of left) killIfAlive(pid)
      return left.length === 0
    }, 'all remaining programs are killed')
    await this.#tmp[Symbol.asyncDispose]()
    this.#cleanupScript.close()
  }

  async #tryToReadView(): Promise<DaemonView | null> {
    try {
      return await this.client.get<DaemonView>('/v1/daemon')
    } catch (error) {
      if (error instanceof ApiError && error.code === 'UNAVAILABLE') return null
      throw error
    }
  }

  async #end(signal: 'SIGKILL' | 'SIGTERM'): Promise<DaemonExit> {
    for (const { child } of this.#children) if (child.exitCode === null && child.signalCode === null) child.kill(signal)
    const ends = await Promise.all(this.#children.map(({ ended }) => ended))
    this.#cleanupScript.setDaemon(null)
    return ends.at(-1) ?? { code: null, signal: null }
  }

  /** True if the daemon started the program: its environment then names a folder of the daemon. */
  #isMarked(pid: number): boolean {
    const environment = `\0${readOrEmpty(`/proc/${pid}/environ`)}`
    return environment.includes(`\0TMPDIR=${this.path}/`) && environment.includes('\0REEVE_PROC=')
  }

  #cgroups(): string[] {
    const inside = /^0::(.*)$/m.exec(readOrEmpty('/proc/self/cgroup'))?.[1] ?? '/'
    const bases = readLines('/proc/self/mountinfo')
      .filter((line) => line.includes(' - cgroup2 '))
      .map((line) => join(line.split(' ')[4] ?? '', inside, `reeve-${homeTag(this.path)}`))
    return bases.filter((base) => existsSync(base)).flatMap((base) => [base, ...foldersBelow(base)])
  }
}

function foldersBelow(dir: string): string[] {
  try {
    return readdirSync(dir, { withFileTypes: true, recursive: true })
      .filter((one) => one.isDirectory())
      .map((one) => join(one.parentPath, one.name))
  } catch {
    return [] // the folder was removed meanwhile
  }
}

function numberedFilesIn(dir: string): number[] {
  return readdirSync(dir)
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
}

function readLines(file: string): string[] {
  return readOrEmpty(file)
    .split('\n')
    .filter((line) => line !== '')
}

function readOrEmpty(file: string): string {
  try {
    return readFileSync(file, 'latin1')
  } catch {
    return ''
  }
}
