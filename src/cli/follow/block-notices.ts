// Reports on stderr why processes do not continue, and the commands that help. A report is printed at once and after each change, but not
// if its text is that of the last report. After two seconds a line states since when the command waits (wait-note.ts). `wait`, `logs` and
// all verbs that follow a process, crew or run use it. Tests: test/tables/cli/follow/block-notices.test.ts, test/e2e/cli/blocked.test.ts.
import { ApiError } from '../../api/client/api-error.ts'
import type { EventView } from '../../api/views/daemon.ts'
import type { Reeve } from '../../index.ts'
import {
  findBlock,
  isSuspendedByAncestor,
  sharesAccountHold,
  type Block,
  type BlockableProcess,
  type BlockCommands,
} from '../print/blocked.ts'
import { processTitle } from '../print/process-text.ts'
import type { Output } from '../print/output.ts'
import { stripControls } from '../print/text.ts'
import { paintChange } from '../print/transcript/tool-result.ts'
import { blockWait, joinWaits, type Wait } from '../print/wait-text.ts'
import { WaitNote } from './wait-note.ts'

/** The events that may change what blocks a process. */
const CHANGES: ReadonlySet<string> = new Set([
  'process.held',
  'process.released',
  'process.waiting',
  'process.answered',
  'process.unanswered',
  'process.unasked',
  'process.limited',
  'process.resumed',
  'crew.joined',
  'process.exited',
])

export function mayChangeBlock(event: EventView): boolean {
  return CHANGES.has(String(event['fact']))
}

export class BlockNotices implements AsyncDisposable {
  readonly #out: Output
  readonly #commands: BlockCommands | undefined
  /** the last reported text, by the UUID of the process */
  readonly #lastTexts = new Map<string, string>()
  readonly #note: WaitNote
  /** the waits for blocked processes, by UUID */
  readonly #waits = new Map<string, Wait>()

  /** `commands`: the commands that the notices name; absent: those of the shell. */
  constructor(out: Output, commands?: BlockCommands) {
    this.#out = out
    this.#commands = commands
    this.#note = new WaitNote(out)
  }

  /** Must be called when the command no longer waits for any of the processes. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#note[Symbol.asyncDispose]()
  }

  /** Reports new blocks of these processes. */
  async report(processes: readonly BlockableProcess[]): Promise<void> {
    const lines = processes.flatMap((process) => this.#changedNotice(process, processes) ?? [])
    for (const line of lines) await this.#out.message(line)
    this.#note.set(joinWaits([...this.#waits.values()]))
  }

  /** Whether the current block of the process is the one that was reported last. */
  hasReported(process: BlockableProcess): boolean {
    return this.#lastTexts.get(process.uuid) === blockKey(findBlock(process, this.#commands))
  }

  #changedNotice(process: BlockableProcess, others: readonly BlockableProcess[]): string | null {
    const block = isSuspendedByAncestor(process, others) || sharesAccountHold(process, others) ? null : findBlock(process, this.#commands)
    if (block) this.#waits.set(process.uuid, blockWait(process, block))
    else this.#waits.delete(process.uuid)
    const text = blockKey(block)
    const lastText = this.#lastTexts.get(process.uuid) ?? ''
    if (text === lastText) return null
    this.#lastTexts.set(process.uuid, text)
    if (block) return this.#formatNotice(process, block.why, block.next)
    return LIVING.has(process.status) ? this.#out.paintMessage('dim', `  ${processTitle(process)} goes on`) : null
  }

  #formatNotice(process: BlockableProcess, why: string, next: string): string {
    const mark = process.status === 'suspended' ? `${this.#out.pauseMark} ` : ''
    const hasDiff = process.asks.some(({ diff }) => diff.length > 0)
    const summary = stripControls(`${mark}${processTitle(process)} ${why}`)
      .trimEnd()
      .split('\n')
      .map((line) => `  ${hasDiff && CHANGED_LINE.test(line) ? paintChange(line, this.#out) : this.#out.paintMessage('yellow', line)}`)
      .join('\n')
    return `${summary}\n${this.#out.paintMessage('dim', `  ${stripControls(next)}`)}`
  }
}

/** A line of the change that a question is about. */
const CHANGED_LINE = /^[-+]/

function blockKey(block: Block | null): string {
  return block ? `${block.why}\n${block.next}` : ''
}

const LIVING: ReadonlySet<BlockableProcess['status']> = new Set(['starting', 'ready', 'working', 'waiting', 'suspended'])

export interface WatchBlocksOptions {
  readonly reeve: Reeve
  readonly out: Output
  readonly signal: AbortSignal
  /** returns the current state of all watched processes */
  readonly readStates: () => Promise<readonly BlockableProcess[]>
  /** the facts after which the states are read again, beside those that may change a block */
  readonly alsoAfter?: ReadonlySet<string>
}

/** Reports now and after each change, until the signal aborts. An error of the daemon ends the reports: the verb that waits prints it. */
export async function watchBlocks({ reeve, out, signal, readStates, alsoAfter }: WatchBlocksOptions): Promise<void> {
  await using notices = new BlockNotices(out)
  let watchedUuids: ReadonlySet<string> = new Set()
  const report = async (): Promise<void> => {
    const states = await readStates()
    watchedUuids = new Set(states.map(({ uuid }) => uuid))
    await notices.report(states)
  }
  try {
    const { cursor: after } = await reeve.daemon({ signal })
    await report()
    for await (const event of reeve.events({ after, follow: true, signal }))
      if ((mayChangeBlock(event) || alsoAfter?.has(String(event['fact']))) && watchedUuids.has(event.uuid)) await report()
  } catch (error) {
    if (!signal.aborted && !(error instanceof ApiError)) throw error
  }
}
