// Runs many kinds of work at once on one daemon, in rounds. There are native agents, commands, trees made by process tools, MCP
// servers and crews in worktrees. Processes are forked, exported, imported and collected. After the last round the daemon may have only
// a few more descriptors and threads than after the first ones. Its memory must stay below a limit. The log must have no error, the
// store no violation, and no program may remain.
// Tests: test/processes/daemon/mixed-work.test.ts; scripts/soak.ts runs it for longer.
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { CrewUpView } from '../../../src/api/views/crew-up.ts'
import type { ExportedView } from '../../../src/api/views/archive.ts'
import type { ProcessView } from '../../../src/api/views/process.ts'
import { CrewHome, makeTask } from '../crew/crew-home.ts'
import type { DaemonHome } from './daemon-home.ts'
import { testEnv } from '../env.ts'
import { MCP_PROGRAM } from '../agents/native-with-mcp.ts'

/** rounds before the first measurement, in which the daemon loads its lazily imported code */
const WARM_UP_ROUNDS = 2
const MAX_NEW_DESCRIPTORS = 8
const MAX_NEW_THREADS = 4
const MAX_MEMORY_MIB = 400
const QUERY_EVERY_MS = 50

export interface ResourceUse {
  readonly descriptors: number
  readonly threads: number
  readonly residentMib: number
}

export interface MixedTally {
  readonly rounds: number
  readonly processes: number
  readonly crews: number
  readonly before: ResourceUse
  readonly after: ResourceUse
  /** the slowest query of the process table, in ms; only printed */
  readonly slowestQueryMs: number
}

const call = (name: string, input: object): object => ({ tools: [{ name, input }] })
const DONE = { text: 'done' }

/** Throws an error that lists all violations, if there are any. */
export async function runMixedWork(rounds: number): Promise<MixedTally> {
  await using crew = await CrewHome.make()
  const mixed = new MixedWorkload(crew)
  await mixed.startDaemon()
  for (let round = 0; round < WARM_UP_ROUNDS; round++) await mixed.runRound()
  const before = resourceUse(crew.home.pid)
  for (let round = 0; round < rounds; round++) await mixed.runRound()
  return await mixed.finish(before, rounds)
}

class MixedWorkload {
  readonly #crew: CrewHome
  readonly #home: DaemonHome
  #round = 0
  #processes = 0
  #slowestMs = 0

  constructor(crew: CrewHome) {
    this.#crew = crew
    this.#home = crew.home
  }

  async startDaemon(): Promise<void> {
    this.#crew.repository.commit({ 'README.md': '# a project\n' }, 'begin')
    const { paths } = this.#home
    await this.#home.start()
    await this.#home.stop()
    const server = { command: process.execPath, args: [MCP_PROGRAM, 'plain'] }
    writeFileSync(
      paths.configFile,
      JSON.stringify({ gc: { max_entries: 30, retention_days: 0, interval_seconds: 3_600 }, mcp: { plain: server } }),
    )
    await this.#home.start()
  }

  /** Starts one piece of work of each kind at the same time. */
  async runRound(): Promise<void> {
    this.#round += 1
    const work = [
      this.#runNative(),
      this.#runCommand(),
      this.#runTree(),
      this.#runWithMcp(),
      this.#runCrew(),
      this.#runAndFork(),
      this.#exportAndImport(),
    ]
    let isOver = false
    const all = Promise.all(work).finally(() => {
      isOver = true
    })
    all.catch(() => undefined) // `all` is awaited below
    while (!isOver) await this.#queryTable()
    await all
    await this.#home.client.post('/v1/gc', {})
  }

  async finish(before: ResourceUse, rounds: number): Promise<MixedTally> {
    const after = resourceUse(this.#home.pid)
    const { checks } = await this.#home.client.get<{ checks: { name: string; ok: boolean }[] }>('/v1/doctor', { verify: true })
    const violations = [
      ...checks.filter(({ name, ok }) => name.startsWith('store') && !ok).map(({ name }) => `doctor: ${name} failed`),
      ...increasesOf(before, after),
      ...this.#home
        .readLog()
        .split('\n')
        .filter((line) => line.includes('"level":50')),
    ]
    const { code } = await this.#home.stop()
    if (code !== 0) violations.push(`the daemon ended with ${code}`)
    await this.#home.waitUntilNothingIsLeft()
    if (violations.length > 0) throw new Error(violations.join('\n'))
    return { rounds, processes: this.#processes, crews: this.#round, before, after, slowestQueryMs: this.#slowestMs }
  }

  /** Queries the process table, as a viewer that refreshes does. */
  async #queryTable(): Promise<void> {
    const began = performance.now()
    await this.#home.listProcesses()
    this.#slowestMs = Math.max(this.#slowestMs, performance.now() - began)
    await sleep(QUERY_EVERY_MS)
  }

  async #play(items: readonly object[], body: object = {}): Promise<ProcessView> {
    const { uuid } = await this.#home.spawn({ model: this.#home.writeScript(items), ...body })
    this.#processes += 1
    return this.#waitUntilCompleted(uuid)
  }

  async #waitUntilCompleted(uuid: string): Promise<ProcessView> {
    const view = await this.#home.waitForEnd(uuid)
    if (view.status !== 'completed')
      throw new Error(`round ${this.#round}: ${view.name ?? view.uuid} is ${view.status}: ${JSON.stringify(view.exit)}`)
    return view
  }

  async #runNative(): Promise<void> {
    await this.#play([call('bash', { command: 'echo one' }), call('bash', { command: 'echo two' }), DONE])
  }

  async #runCommand(): Promise<void> {
    const { uuid } = await this.#home.spawn({ argv: ['sh', '-c', 'sleep 600 & for i in 1 2 3; do echo $i; done'] })
    this.#processes += 1
    await this.#waitUntilCompleted(uuid)
  }

  async #runTree(): Promise<void> {
    const child = `child-${this.#round}`
    await this.#play(
      [call('mcp__reeve__spawn', { command: ['true'], name: child }), call('mcp__reeve__wait', { processes: [child] }), DONE],
      { reeve: true },
    )
  }

  async #runWithMcp(): Promise<void> {
    await this.#play([call('mcp__plain__echo', { said: this.#round }), DONE], { mcp: ['plain'] })
  }

  async #runCrew(): Promise<void> {
    const name = `team${this.#round}`
    const [firstTask, secondTask] = [`a${this.#round}`, `b${this.#round}`]
    const body = {
      name,
      cwd: this.#crew.repository.dir,
      env: testEnv(this.#crew.membersHome),
      workers: 2,
      model: CrewHome.model('worker'),
      tasks: [makeTask(firstTask), makeTask(secondTask, [firstTask])],
    }
    const { process } = await this.#home.client.post<CrewUpView>('/v1/crews', body)
    await this.#waitUntilCompleted(process.uuid)
  }

  async #runAndFork(): Promise<void> {
    const { uuid } = await this.#play([call('bash', { command: 'true' }), call('bash', { command: 'true' }), DONE])
    const forked = await this.#home.resume(uuid, { fork: true, fromStep: 1 })
    await this.#waitUntilCompleted(forked.uuid)
  }

  async #exportAndImport(): Promise<void> {
    const { uuid } = await this.#play([call('bash', { command: 'true' }), DONE])
    const out = join(this.#home.work, `export-${this.#round}`)
    const { dir } = await this.#home.client.post<ExportedView>(`/v1/processes/${uuid}/export`, { dir: out })
    await this.#home.client.delete(`/v1/processes/${uuid}`)
    await this.#home.client.post('/v1/import', { dir })
    rmSync(out, { recursive: true })
  }
}

function resourceUse(pid: number): ResourceUse {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  const field = (name: string): number => Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(status)?.[1])
  return { descriptors: readdirSync(`/proc/${pid}/fd`).length, threads: field('Threads'), residentMib: field('VmRSS') / 1_024 }
}

function increasesOf(before: ResourceUse, after: ResourceUse): string[] {
  return [
    ...(after.descriptors > before.descriptors + MAX_NEW_DESCRIPTORS
      ? [`${before.descriptors} descriptors became ${after.descriptors}`]
      : []),
    ...(after.threads > before.threads + MAX_NEW_THREADS ? [`${before.threads} threads became ${after.threads}`] : []),
    ...(after.residentMib > MAX_MEMORY_MIB ? [`the daemon uses ${after.residentMib.toFixed(0)} MiB of memory`] : []),
  ]
}
