// A real daemon in a home of its own: started as a program, talked to over its socket, killed with SIGKILL or stopped with
// SIGTERM, started again. What it left behind is seen without its own code: by /proc and by the cgroup tree.
// Disposing of a home ends all that is left of it, so that a test that failed leaves nothing either.
import { spawn, type ChildProcess } from 'node:child_process'
import { closeSync, existsSync, mkdirSync, openSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { ApiError, Client } from '../../src/api/client.ts'
import { clientSocket, paths, prepareState } from '../../src/config/paths.ts'
import { homeTag } from '../../src/drivers/contain/marker.ts'
import type { DaemonView, EventView, PauseBody, ProcessView, ResumeBody, SignalBody, SpawnBody, SteerView } from '../../src/api/views.ts'
import type { ScriptItem } from '../../src/drivers/native/script-file.ts'
import { FORM, ROOT, testEnv, type Form } from './env.ts'
import { lifeline, type Lifeline } from './lifeline.ts'
import { eventually, killIfThere, livingWith, readLiving } from './living.ts'
import { tempDir, type TempDir } from './tmp.ts'

const ENTRY: Readonly<Record<Form, string>> = { source: join(ROOT, 'src/daemon/main.ts'), bundle: join(ROOT, 'dist/daemon.js') }
const START_MS = 30_000
const ASK_EVERY_MS = 5
const WAIT_MS = 60_000

export interface Ended {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

export interface DaemonChild {
  readonly pid: number
  readonly ended: Promise<Ended>
  /** what it wrote to stderr */
  stderr(): string
}

/** Something that an item of a script leaves out has its default. */
export type Item = Partial<ScriptItem> | { readonly tools: readonly { readonly name: string; readonly input: object }[] }

export class DaemonHome implements AsyncDisposable {
  /** REEVE_HOME */
  readonly path: string
  /** where agents work */
  readonly work: string
  readonly client: Client
  readonly #tmp: TempDir
  readonly #form: Form
  readonly #lifeline: Lifeline
  readonly #children: { readonly child: ChildProcess; readonly ended: Promise<Ended> }[] = []
  /** guardians of daemons that were ended */
  readonly #guardians: number[] = []
  #files = 0

  private constructor(tmp: TempDir, form: Form) {
    this.#tmp = tmp
    this.#form = form
    this.#lifeline = lifeline(tmp.path)
    this.path = join(tmp.path, 'home')
    this.work = join(tmp.path, 'work')
    mkdirSync(this.work)
    this.client = new Client({ socketPath: () => clientSocket(this.where) })
  }

  static async make(form: Form = FORM): Promise<DaemonHome> {
    if (!existsSync(ENTRY[form])) throw new Error(`${ENTRY[form]} is not there: run \`npm run build\``)
    return new DaemonHome(await tempDir(), form)
  }

  get where(): ReturnType<typeof paths> {
    return paths(testEnv(this.path))
  }

  get pid(): number {
    const pid = this.#children.at(-1)?.child.pid
    if (pid === undefined) throw new Error('no daemon was started')
    return pid
  }

  /** Starts a daemon and waits for nothing. */
  launch(): DaemonChild {
    prepareState(this.where)
    const file = join(this.#tmp.path, `stderr-${++this.#files}`)
    const stderr = openSync(file, 'w')
    const child = spawn(process.execPath, [ENTRY[this.#form]], { cwd: '/', env: testEnv(this.path), stdio: ['ignore', 'ignore', stderr] })
    closeSync(stderr)
    const ended = new Promise<Ended>((resolve, reject) => {
      child.once('error', reject)
      child.once('exit', (code, signal) => resolve({ code, signal }))
    })
    this.#children.push({ child, ended })
    this.#lifeline.tell(child.pid ?? null)
    if (child.pid === undefined) throw new Error('the daemon could not be spawned')
    return { pid: child.pid, ended, stderr: () => readFileSync(file, 'utf8') }
  }

  /** Starts a daemon and waits until it answers. */
  async start(): Promise<DaemonView> {
    const child = this.launch()
    const deadline = performance.now() + START_MS
    for (;;) {
      const view = await this.#asked()
      if (view?.pid === child.pid) return view
      if (readLiving(child.pid) === null) throw new Error(`the daemon ended: ${JSON.stringify(await child.ended)} ${child.stderr()}${this.log()}`)
      if (performance.now() > deadline) throw new Error(`the daemon does not answer after ${START_MS} ms: ${this.log()}`)
      await sleep(ASK_EVERY_MS)
    }
  }

  /** `kill -9`, wherever it is; resolves when it has been reaped. */
  async kill(): Promise<void> {
    this.#guardians.push(...this.guardians())
    await this.#end('SIGKILL')
  }

  /** SIGTERM, without waiting for what comes of it. */
  askToStop(): void {
    process.kill(this.pid, 'SIGTERM')
  }

  /** SIGTERM, and how it ended. */
  async stop(): Promise<Ended> {
    this.#guardians.push(...this.guardians())
    return this.#end('SIGTERM')
  }

  log(): string {
    return existsSync(this.where.logFile) ? readFileSync(this.where.logFile, 'utf8') : ''
  }

  // ——— what it is asked

  /** Writes a script and gives the name of its model. */
  script(items: readonly Item[]): string {
    const file = join(this.#tmp.path, `script-${++this.#files}.yaml`)
    writeFileSync(file, JSON.stringify(items))
    return `script:${file}`
  }

  async spawn(body: Partial<SpawnBody>): Promise<ProcessView> {
    const whole: SpawnBody = { cwd: this.work, env: testEnv(this.work), ...(body.argv || body.supervisor ? {} : { intent: 'work' }), ...body }
    return (await this.client.post<{ process: ProcessView }>('/v1/processes', whole)).process
  }

  async list(): Promise<ProcessView[]> {
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

  /** Waits until the process has ended. */
  async ended(ref: string): Promise<ProcessView> {
    const query = { for: 'exited', timeoutMs: WAIT_MS }
    const { process, timedOut } = await this.client.get<{ process: ProcessView; timedOut: boolean }>(`/v1/processes/${ref}/wait`, query, { extraMs: WAIT_MS })
    if (timedOut) throw new Error(`process ${process.pid} is ${process.status} at step ${process.step} after ${WAIT_MS} ms: ${this.log()}`)
    return process
  }

  /** Waits until the view of the process is as told. */
  async until(ref: string, isSo: (view: ProcessView) => boolean): Promise<ProcessView> {
    const deadline = performance.now() + START_MS
    for (;;) {
      const view = await this.view(ref)
      if (isSo(view)) return view
      if (performance.now() > deadline) throw new Error(`process ${view.pid} never was so: ${isSo.toString()} ${JSON.stringify(view)} ${this.log()}`)
      await sleep(ASK_EVERY_MS)
    }
  }

  /** All events so far, by the API. */
  async events(): Promise<EventView[]> {
    const events: EventView[] = []
    for await (const event of this.client.events('/v1/events', { query: { after: 0 } })) events.push(event)
    return events
  }

  // ——— what is left of it

  /** Programs of its processes that live, found by their environment and in its cgroups. */
  leftovers(): number[] {
    const marked = numbers('/proc').filter((pid) => this.#isMarked(pid))
    const caged = this.#cgroups().flatMap((dir) => lines(join(dir, 'cgroup.procs')).map(Number))
    return [...new Set([...marked, ...caged])].filter((pid) => readLiving(pid) !== null)
  }

  /** Guardians of its daemon while that lives. */
  guardians(): number[] {
    const own = new Set(this.#children.map(({ child }) => child.pid))
    return livingWith('reeve-guardian').filter(({ ppid }) => own.has(ppid)).map(({ pid }) => pid)
  }

  /** Waits until no program, no guardian and no cgroup of a daemon that has ended is left. */
  async nothingLeft(): Promise<void> {
    await eventually(() => this.leftovers().length === 0, 'no program is left')
    await eventually(() => this.#guardians.every((pid) => readLiving(pid)?.argv.includes('reeve-guardian') !== true), 'no guardian is left')
    await eventually(() => this.#cgroups().length === 0, 'no cgroup is left')
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#end('SIGKILL')
    await eventually(() => {
      const left = this.leftovers()
      for (const pid of left) killIfThere(pid)
      return left.length === 0
    }, 'all that was left was killed')
    await this.#tmp[Symbol.asyncDispose]()
    this.#lifeline.goodbye()
  }

  async #asked(): Promise<DaemonView | null> {
    try {
      return await this.client.get<DaemonView>('/v1/daemon')
    } catch (error) {
      if (error instanceof ApiError && error.code === 'UNAVAILABLE') return null
      throw error
    }
  }

  async #end(signal: 'SIGKILL' | 'SIGTERM'): Promise<Ended> {
    for (const { child } of this.#children) if (child.exitCode === null && child.signalCode === null) child.kill(signal)
    const ends = await Promise.all(this.#children.map(({ ended }) => ended))
    this.#lifeline.tell(null)
    return ends.at(-1) ?? { code: null, signal: null }
  }


  /** The folder of its pipes and temporary files stands in the environment of each of its programs. */
  #isMarked(pid: number): boolean {
    const environment = readOrEmpty(`/proc/${pid}/environ`).split('\0')
    return environment.some((one) => one.startsWith('REEVE_PROC=')) && environment.some((one) => one.startsWith(`TMPDIR=${this.path}/`))
  }

  #cgroups(): string[] {
    const inside = /^0::(.*)$/m.exec(readOrEmpty('/proc/self/cgroup'))?.[1] ?? '/'
    const bases = lines('/proc/self/mountinfo').filter((line) => line.includes(' - cgroup2 ')).map((line) => join(line.split(' ')[4] ?? '', inside, `reeve-${homeTag(this.path)}`))
    return bases.filter((base) => existsSync(base)).flatMap((base) => [base, ...foldersBelow(base)])
  }
}

function foldersBelow(dir: string): string[] {
  try {
    return readdirSync(dir, { withFileTypes: true, recursive: true }).filter((one) => one.isDirectory()).map((one) => join(one.parentPath, one.name))
  } catch {
    return [] // it went while we looked
  }
}

function numbers(dir: string): number[] {
  return readdirSync(dir).filter((name) => /^\d+$/.test(name)).map(Number)
}

function lines(file: string): string[] {
  return readOrEmpty(file).split('\n').filter((line) => line !== '')
}

function readOrEmpty(file: string): string {
  try {
    return readFileSync(file, 'latin1')
  } catch {
    return ''
  }
}
