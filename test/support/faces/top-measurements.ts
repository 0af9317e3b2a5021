// Measures `reeve top` with thousands of rows, for the test of its budgets and for bench/top.ts. All times are CPU times, because other
// work of the machine lengthens wall-clock times. A busy machine also lengthens CPU times: `measureSlowdown` returns by how much.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { frameBytes, type ScreenFrame } from '../../../src/cli/screen/frame.ts'
import { frameOf } from '../../../src/cli/top/frame-lines.ts'
import { TopModel } from '../../../src/cli/top/model.ts'
import { Terminal } from '../daemon/terminal.ts'
import { cpuMsOf, findOwnProcess, residentMbOf } from '../living-processes.ts'
import { ManyRowsDaemon } from './many-rows-daemon.ts'
import { BIRTH, manyChanges, manyRows, sumsOf } from './rows.ts'

/** The largest values that `reeve top` may have, on a machine where Node starts in `NODE_START_MS` of CPU time. */
export const TOP_BUDGETS = {
  firstFrameMs: 150,
  frameMs: { 1_000: 1, 10_000: 3 },
  idlePercent: 0.5,
  residentMb: 90,
  frameBytes: 15_000,
} as const

const NODE_START_MS = 25
const SCREEN_SIZE = { columns: 200, rows: 50 } as const
/** the number of changed rows per frame */
const CHANGED_ROWS = 20
const WARM_UP_FRAMES = 200

const colours: Readonly<Record<string, number>> = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33, cyan: 36, inverse: 7 }
const STYLE = {
  ascii: false,
  ellipsis: '…',
  pauseMark: '⏸',
  paint: (name: string, text: string) => `\x1b[${colours[name]}m${text}\x1b[0m`,
}

/** Draws frames in which the selection moves and rows change. Returns the mean CPU time and the largest size of a frame. */
export function drawFrames(count: number, frames: number): { readonly cpuMs: number; readonly bytes: number } {
  const model = new TopModel()
  const wall = Date.parse(BIRTH)
  model.onRows({ type: 'reset', needs: [], cursor: '0', seq: 0, now: BIRTH, rows: manyRows(count), sums: sumsOf(count) }, 0, wall)
  let before: ScreenFrame | null = null
  let bytes = 0
  let start = process.threadCpuUsage()
  for (let round = 1 - WARM_UP_FRAMES; round <= frames; round += 1) {
    if (round === 1) start = process.threadCpuUsage()
    const now = wall + (WARM_UP_FRAMES + round) * 100
    model.onRows(
      { type: 'rows', cursor: '0', seq: round, up: manyChanges(count, CHANGED_ROWS, WARM_UP_FRAMES + round), gone: [] },
      now,
      now,
    )
    model.move(1)
    const frame = frameOf(model, SCREEN_SIZE, { wall: now, mono: now }, STYLE)
    bytes = Math.max(bytes, Buffer.byteLength(frameBytes(before, frame, SCREEN_SIZE.rows)))
    before = frame
  }
  const { user, system } = process.threadCpuUsage(start)
  return { cpuMs: (user + system) / 1_000 / frames, bytes }
}

/** `reeve top` on a terminal, with a fake daemon. */
export class MeasuredTop implements AsyncDisposable {
  readonly #home: string
  readonly #daemon: ManyRowsDaemon
  readonly terminal: Terminal

  private constructor(home: string, daemon: ManyRowsDaemon, terminal: Terminal) {
    this.#home = home
    this.#daemon = daemon
    this.terminal = terminal
  }

  /** `program`: the command line to measure; default: that of the test run */
  static async open(count: number, program?: string): Promise<MeasuredTop> {
    const home = mkdtempSync(join(tmpdir(), 'reeve-top-'))
    const daemon = await ManyRowsDaemon.start(home, count)
    const env = { NO_COLOR: '', XDG_CACHE_HOME: join(tmpdir(), 'reeve-top-cache') }
    const terminal = new Terminal(home, ['top'], { ...SCREEN_SIZE, env, ...(program === undefined ? {} : { program }) })
    await terminal.waitFor(() => terminal.raw.includes('worker-0'), 'the first row')
    return new MeasuredTop(home, daemon, terminal)
  }

  /** The CPU time so far, in ms. */
  get cpuMs(): number {
    return cpuMsOf(this.terminal.process)
  }

  get residentMb(): number {
    return residentMbOf(this.terminal.process)
  }

  /** Resolves after this number of further frames; the clock of the screen causes one each second. */
  async waitForFrames(count: number): Promise<void> {
    const countFrames = (): number => this.terminal.raw.split('\x1b[?2026l').length - 1
    const wanted = countFrames() + count
    await this.terminal.waitFor(() => countFrames() >= wanted, `${count} frames`)
  }

  /** The share of a core that it takes while nothing changes, in percent, over some frames of its clock. */
  async measureIdlePercent(frames: number): Promise<number> {
    await this.waitForFrames(2)
    const [cpuMs, wallMs] = [this.cpuMs, performance.now()]
    await this.waitForFrames(frames)
    return (100 * (this.cpuMs - cpuMs)) / (performance.now() - wallMs)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.terminal.type('q')
    await this.terminal.exitCode
    this.terminal[Symbol.dispose]()
    await this.#daemon[Symbol.asyncDispose]()
    rmSync(this.#home, { recursive: true, force: true })
  }
}

/** The CPU time that Node takes until it runs a program of one line, in ms. */
export async function measureNodeStartMs(): Promise<number> {
  const child = spawn(process.execPath, ['-e', 'process.stdout.write("x"); setInterval(() => {}, 1000)'], {
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  try {
    await once(child.stdout, 'data')
    return cpuMsOf(findOwnProcess(child.pid ?? 0, ''))
  } finally {
    child.kill('SIGKILL')
    await once(child, 'close')
  }
}

/** Returns the factor by which this machine is slower now than the machine of the budgets; at least 1. */
export async function measureSlowdown(): Promise<number> {
  const starts: number[] = []
  for (let round = 0; round < 3; round += 1) starts.push(await measureNodeStartMs())
  return Math.max(1, Math.min(...starts) / NODE_START_MS)
}
