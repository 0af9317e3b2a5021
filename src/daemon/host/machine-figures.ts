// The figures of the machine: load, memory, the disk of the store, and the number of OS processes. They are read at most once a second,
// however many clients ask. A figure that the system does not give is null. Test: test/tables/daemon/host/machine-figures.test.ts.
import { readdir, stat, statfs } from 'node:fs/promises'
import { availableParallelism, freemem, loadavg, totalmem } from 'node:os'
import { join } from 'node:path'
import type { DaemonView } from '../../api/views/daemon.ts'
import type { Process } from '../../kernel/model/process.ts'
import type { Clock } from '../loop/clock.ts'

/** Figures are kept for this time, in ms. */
const KEEP_MS = 1_000

type Figures = Pick<DaemonView, 'load' | 'memory' | 'disk' | 'osProcesses'>
/** The view of the daemon without the figures of its machine. */
export type DaemonViewWithoutFigures = Omit<DaemonView, keyof Figures>

interface MachineFiguresDeps {
  /** the directory of the store */
  readonly state: string
  readonly table: { rows(): Iterable<Process> }
  readonly clock: Clock
}

export class MachineFigures {
  readonly #deps: MachineFiguresDeps
  #kept: { readonly atMono: number; readonly figures: Promise<Figures> } | null = null

  constructor(deps: MachineFiguresDeps) {
    this.#deps = deps
  }

  /** The figures, at most a second old. */
  read(): Promise<Figures> {
    const { mono } = this.#deps.clock.now()
    if (this.#kept === null || mono - this.#kept.atMono >= KEEP_MS) this.#kept = { atMono: mono, figures: this.#measure() }
    return this.#kept.figures
  }

  async #measure(): Promise<Figures> {
    const { state, table } = this.#deps
    const [oneMinute = 0, fiveMinutes = 0, fifteenMinutes = 0] = loadavg()
    return {
      load: { cores: availableParallelism(), oneMinute, fiveMinutes, fifteenMinutes },
      memory: {
        totalBytes: totalmem(),
        availableBytes: freemem(),
        programsBytes: sumOfPrograms(table.rows()),
        daemonBytes: process.memoryUsage.rss(),
      },
      disk: await measureDisk(state),
      osProcesses: await countOsProcesses(),
    }
  }
}

/** The memory of the programs of all running processes, as last measured. */
function sumOfPrograms(rows: Iterable<Process>): number {
  let sum = 0
  for (const { life, usage } of rows) if (life.state === 'running' && life.attached) sum += usage.rssBytes ?? 0
  return sum
}

async function measureDisk(state: string): Promise<Figures['disk']> {
  try {
    const { bsize, blocks, bavail } = await statfs(state)
    const sizes = await Promise.all(['store.db', 'store.db-wal'].map((name) => sizeOf(join(state, name))))
    return { totalBytes: blocks * bsize, freeBytes: bavail * bsize, storeBytes: sizes.reduce((sum, size) => sum + size, 0) }
  } catch {
    // A file system without these figures, or a directory that is gone.
    return null
  }
}

/** The size of a file; 0 if there is none. */
async function sizeOf(file: string): Promise<number> {
  return stat(file).then(
    ({ size }) => size,
    () => 0,
  )
}

async function countOsProcesses(): Promise<number | null> {
  try {
    return (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).length
  } catch {
    // macOS has no /proc.
    return null
  }
}
