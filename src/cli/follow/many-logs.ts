// Prints the logs of several processes as one: in chronological order, each row with the name of its process. With `-f` it continues until
// all have ended; new descendants join a tree, and every new process joins `--all`. Test: test/e2e/cli/logs.test.ts.
import { logLines } from '../../api/text/log-lines.ts'
import type { EventView } from '../../api/views/daemon.ts'
import type { LogLine, ProcessView } from '../../api/views/process.ts'
import { hasEnded } from '../print/process-text.ts'
import { HoldNoticeFilter } from '../print/hold-notice-filter.ts'
import { LogPrinter, logRecord, prefixOf, type LoggedProcess, type LogPrefix, type LogStyle } from '../print/transcript/log-line.ts'
import { fitWidth, oneLine, padWidth, displayWidth } from '../print/text.ts'
import type { CommandContext } from '../table/verb.ts'
import { BlockNotices, mayChangeBlock } from './block-notices.ts'
import { toFact } from './event-to-fact.ts'

export const LOG_FIELDS = ['uuid', 'pid', 'parentUuid', 'name', 'status', 'state', 'driver', 'holds', 'asks', 'note'] as const
/** The fields that are read of a process whose log is printed. */
export type LogSource = Pick<ProcessView, (typeof LOG_FIELDS)[number]>

export interface ManyLogsOptions {
  readonly follow: boolean
  readonly withTime: boolean
  /** the number of earlier lines of each process; absent: a share of `MAX_LINES` */
  readonly tail?: number | undefined
  /** only lines since this time, in wall ms */
  readonly since?: number | undefined
  /** only lines with this text */
  readonly match?: string | undefined
  /** which processes join: only these, their new descendants, or every new process */
  readonly joining: 'none' | 'descendants' | 'all'
}

/** the number of earlier lines that all processes share, unless `tail` is given */
const MAX_LINES = 20_000
/** the greatest and the smallest share of one process, in lines */
const [MOST_LINES, LEAST_LINES] = [10_000, 10]
/** the number of logs that are read in parallel */
const MAX_PARALLEL = 8
/** the greatest width of a name */
const MAX_LABEL_COLUMNS = 24
const COLOURS = ['cyan', 'green', 'yellow', 'blue', 'magenta'] as const

/** Prints the logs. `readSources` returns the processes; it is called after the position of the stream is known. */
export async function printManyLogs(
  { out, reeve }: CommandContext,
  readSources: () => Promise<readonly LogSource[]>,
  options: ManyLogsOptions,
): Promise<number> {
  const { cursor: after } = await reeve.daemon()
  const sources = await readSources()
  const logs = new ManyLogs(out, sources, options.withTime)
  const cursors = new Map<string, number>()
  const earlier = await readEarlierLines({ out, reeve }, sources, options, cursors)
  if (out.json && !options.follow) await out.value({ lines: earlier.map(({ source, line }) => logRecord(source, line)) })
  else for (const { source, line } of earlier) await logs.print(source.uuid, line)
  if (!options.follow) return 0
  await logs.reportBlocks(sources.filter((source) => !hasEnded(source)))
  if (options.joining !== 'all' && logs.isOver) return 0
  for await (const event of reeve.events({ after, follow: true })) {
    if (isJoining(event, logs, options)) logs.add({ uuid: event.uuid, pid: event.pid, name: nameOf(event) })
    if (!logs.has(event.uuid) || event.seq <= (cursors.get(event.uuid) ?? 0)) continue
    if (mayChangeBlock(event)) await logs.reportBlocks([await reeve.get(event.uuid)])
    await logs.printEvent(event)
    if (options.joining !== 'all' && logs.isOver) break
  }
  return 0
}

interface EarlierLine {
  readonly source: LogSource
  readonly line: LogLine
  /** wall ms; never less than that of the previous line of the process */
  readonly at: number
}

/** Reads the last lines of each process, and puts them in chronological order. Sets the cursor of each process. */
async function readEarlierLines(
  { reeve }: CommandContext,
  sources: readonly LogSource[],
  { tail, since, match }: ManyLogsOptions,
  cursors: Map<string, number>,
): Promise<EarlierLine[]> {
  const share = Math.floor(MAX_LINES / Math.max(1, sources.length))
  const query = {
    tail: tail ?? Math.max(LEAST_LINES, Math.min(MOST_LINES, share)),
    ...(since === undefined ? {} : { since }),
    ...(match === undefined ? {} : { match }),
  }
  const found: EarlierLine[] = []
  for (let at = 0; at < sources.length; at += MAX_PARALLEL) {
    const some = sources.slice(at, at + MAX_PARALLEL)
    const answers = await Promise.all(some.map(({ uuid }) => reeve.logs(uuid, query)))
    for (const [index, { lines, cursor }] of answers.entries()) {
      const source = some[index]
      if (!source) continue
      cursors.set(source.uuid, cursor)
      let last = 0
      for (const line of lines) {
        last = Math.max(last, Date.parse(line.at) || 0)
        found.push({ source, line, at: last })
      }
    }
  }
  // The sort is stable: lines of the same time keep the order of the processes.
  return found.sort((a, b) => a.at - b.at)
}

/** Whether the event is the beginning of a process that joins. */
function isJoining(event: EventView, logs: ManyLogs, { joining }: ManyLogsOptions): boolean {
  if (joining === 'none' || (event['fact'] !== 'process.spawned' && event['fact'] !== 'process.forked') || logs.has(event.uuid))
    return false
  return joining === 'all' || logs.has(String(event['parentUuid']))
}

function nameOf(event: EventView): string | null {
  return (event['spec'] as { readonly name?: string | null } | undefined)?.name ?? null
}

interface Logged {
  process: LoggedProcess
  readonly colour: (typeof COLOURS)[number]
  readonly printer: LogPrinter
  readonly filter: HoldNoticeFilter
}

/** The processes whose logs are printed, with the colour of each. */
class ManyLogs {
  readonly #out: CommandContext['out']
  readonly #withTime: boolean
  readonly #logged = new Map<string, Logged>()
  readonly #living = new Set<string>()
  readonly #notices: BlockNotices
  #labelColumns = 0

  constructor(out: CommandContext['out'], sources: readonly LogSource[], withTime: boolean) {
    this.#out = out
    this.#withTime = withTime
    this.#notices = new BlockNotices(out)
    for (const source of sources) {
      this.add(source)
      if (hasEnded(source)) this.#living.delete(source.uuid)
    }
  }

  /** Whether all processes have ended. */
  get isOver(): boolean {
    return this.#living.size === 0
  }

  has(uuid: string): boolean {
    return this.#logged.has(uuid)
  }

  /** Adds a living process. */
  add(process: LoggedProcess): void {
    const { uuid } = process
    const style: LogStyle = { out: this.#out, withTime: this.#withTime, prefix: () => this.#prefix(uuid) }
    this.#logged.set(uuid, {
      process,
      colour: this.#colourOf(uuid),
      printer: new LogPrinter(style),
      filter: new HoldNoticeFilter(),
    })
    this.#living.add(uuid)
    this.#labelColumns = Math.max(this.#labelColumns, displayWidth(this.#label(process)))
  }

  async print(uuid: string, line: LogLine): Promise<void> {
    const logged = this.#logged.get(uuid)
    await logged?.printer.print(logged.process, line)
  }

  async printEvent(event: EventView): Promise<void> {
    const fact = toFact(event)
    const logged = this.#logged.get(event.uuid)
    if (!fact || !logged) return
    // A resume gives the process another PID.
    logged.process = { ...logged.process, pid: event.pid }
    const visible = this.#out.json ? [fact] : logged.filter.visibleFacts(fact)
    for (const line of visible.flatMap((each) => logLines(event.at, each))) await logged.printer.print(logged.process, line)
    if (fact.type === 'process.exited') this.#living.delete(event.uuid)
    if (fact.type === 'process.resumed') this.#living.add(event.uuid)
  }

  async reportBlocks(processes: readonly LogSource[]): Promise<void> {
    await this.#notices.report(processes)
  }

  /**
   * Returns the colour that the UUID selects, or the next one that fewer processes have. The same processes always have the same colours.
   */
  #colourOf(uuid: string): Logged['colour'] {
    const uses = (colour: Logged['colour']): number => [...this.#logged.values()].filter((logged) => logged.colour === colour).length
    const first = Number.parseInt(uuid.slice(-4), 16) % COLOURS.length
    const inOrder = [...COLOURS.slice(first), ...COLOURS.slice(0, first)]
    return inOrder.toSorted((a, b) => uses(a) - uses(b))[0] ?? 'cyan'
  }

  #prefix(uuid: string): LogPrefix {
    const { process, colour } = this.#logged.get(uuid) ?? { process: { uuid, pid: 0, name: null }, colour: 'cyan' as const }
    return prefixOf(padWidth(this.#label(process), this.#labelColumns), (text) => this.#out.paint(colour, text))
  }

  #label({ uuid, pid, name }: Logged['process']): string {
    if (name === null) return `PID ${pid}`
    const isShared = [...this.#logged.values()].some(({ process }) => process.name === name && process.uuid !== uuid)
    return fitWidth(isShared ? `${oneLine(name)} ${pid}` : oneLine(name), MAX_LABEL_COLUMNS, this.#out.ellipsis)
  }
}
