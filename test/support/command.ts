// The command driver with real programs in a containment of their own; the kernel is a recorder that acknowledges when it
// is told to.
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { commandWith } from '../../src/drivers/command/command.ts'
import type { Agent, KernelPort, Launch } from '../../src/drivers/port.ts'
import type { Ack, Permit, Report } from '../../src/kernel/reports.ts'
import type { ProcessSpec } from '../../src/kernel/types.ts'
import { UUID } from './contained.ts'
import type { Contained } from './contained.ts'
import { ROOT, testEnv } from './env.ts'
import type { Played } from './programs/json-agent.ts'
import { specOf } from './store-facts.ts'

export class Recorder implements KernelPort {
  readonly reports: Report[] = []
  readonly signal = new AbortController().signal
  /** each report waits for this */
  gate: Promise<unknown> = Promise.resolve()
  deaf = false
  refused: Report['type'] | null = null
  async report(report: Report): Promise<Ack> {
    if (this.deaf) throw new Error('the process is gone')
    if (report.type === this.refused) throw new Error('the store is damaged')
    this.reports.push(report)
    await this.gate
    return 'ok'
  }
  async begin(): Promise<Permit> {
    return { ack: 'late', reason: null }
  }
  async clear(): Promise<void> {}
  live(): void {}
  text(stream: 'stdout' | 'stderr'): string {
    return this.reports.map((report) => (report.type === 'output' && report.stream === stream ? report.text : '')).join('')
  }
  find<T extends Report['type']>(type: T): Extract<Report, { type: T }> | null {
    return this.all(type)[0] ?? null
  }
  all<T extends Report['type']>(type: T): Extract<Report, { type: T }>[] {
    return this.reports.filter((report): report is Extract<Report, { type: T }> => report.type === type)
  }
}

export async function launchOf(contained: Contained, argv: readonly string[] | null, changes: Partial<ProcessSpec> = {}, more: Partial<Launch> = {}): Promise<Launch> {
  const kind = changes.containment ?? 'group'
  const containment = await contained.open(kind === 'auto' ? 'group' : kind)
  const spec = specOf({ driver: 'command', agent: 'command', argv, cwd: contained.dir, env: testEnv(contained.dir), ...changes })
  return {
    uuid: UUID, pid: 1, spec, containment, intent: containment.intent, tmpDir: contained.dir,
    credentials: { MY_KEY: 'secret' }, step: 0, turn: 0, sessionId: null, resumed: false, message: () => Promise.resolve(null), openCalls: [], context: null,
    historyOf: () => Promise.resolve([]), history: async () => [], skim: async () => [], ...more,
  }
}

/** So long a program may take to end its turn in a test. */
const CANCEL_MS = 1_000

export interface Running extends AsyncDisposable {
  readonly agent: Agent
  readonly kernel: Recorder
}

export async function run(contained: Contained, argv: readonly string[], changes: Partial<ProcessSpec> = {}, more: Partial<Launch> = {}): Promise<Running> {
  const kernel = new Recorder()
  const agent = await commandWith({ cancelMs: CANCEL_MS }).start(await launchOf(contained, argv, changes, more), kernel)
  return { agent, kernel, [Symbol.asyncDispose]: () => agent[Symbol.asyncDispose]() }
}

/** Writes what is played, and gives the command line that plays it. */
export async function playing(dir: string, items: readonly Played[], name = 'played.json'): Promise<string[]> {
  const file = join(dir, name)
  await writeFile(file, JSON.stringify(items))
  return [process.execPath, join(ROOT, 'test/support/programs/json-agent.ts'), file]
}

/** The same as a program of its own name: gives its path. */
export async function programThatPlays(dir: string, name: string, items: readonly Played[]): Promise<string> {
  return named(dir, name, await playing(dir, items))
}

/** A program that plays the next of these lists whenever it starts, and how it was called each time. */
export async function programOfTurns(dir: string, name: string, turns: readonly (readonly Played[])[]): Promise<{ readonly program: string; calls(): Promise<string[][]> }> {
  const file = join(dir, 'turns.json')
  await writeFile(file, JSON.stringify({ turns }))
  const program = await named(dir, name, [process.execPath, join(ROOT, 'test/support/programs/json-agent.ts'), file])
  const calls = async (): Promise<string[][]> => (await readFile(`${file}.args`, 'utf8')).trim().split('\n').map((line) => JSON.parse(line) as string[])
  return { program, calls }
}

async function named(dir: string, name: string, argv: readonly string[]): Promise<string> {
  const file = join(dir, name)
  await writeFile(file, `#!/bin/sh\nexec ${argv.map((arg) => `'${arg}'`).join(' ')} "$@"\n`, { mode: 0o755 })
  return file
}
