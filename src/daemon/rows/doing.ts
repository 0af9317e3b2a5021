// Tracks the current work of each running process: its open model call, tool calls and compaction, and the wait before a repeated call.
// Reads committed facts and live output; forgets a process when it ends. Works without any viewer, so it must cost next to nothing.
// The row of a process names its open work; this file adds times, inputs and counts. Test: test/tables/daemon/rows/why.test.ts.
import { toolInputLine } from '../../api/text/tool-input-line.ts'
import { openAsks } from '../../kernel/decide/asks/asks.ts'
import { isoTime } from '../views/format-times.ts'
import { statusOf } from '../../kernel/model/status.ts'
import type { DoingView } from '../../api/views/heartbeat.ts'
import type { LiveOutput } from '../../drivers/port.ts'
import type { BodyOf, FactBody, FactType, StoredFact } from '../../kernel/model/facts.ts'
import type { Status } from '../../kernel/model/status.ts'
import type { Process } from '../../kernel/model/process.ts'
import type { Uuid } from '../../kernel/model/ids.ts'
import { truncate } from '../../kernel/util/truncate.ts'

/** The largest number of tool inputs that are kept of one process, until its calls begin. */
const MAX_INPUTS = 64
/** The largest length of an input. */
const MAX_INPUT_CHARS = 120
/** The mean number of characters of a token, for an estimate of the received tokens. */
const CHARS_PER_TOKEN = 4

interface OpenTool {
  /** wall ms */
  readonly since: number
  readonly input: string | null
}

/** A model call that failed, and is repeated at `until`. Times are wall ms. */
export interface Retry {
  readonly since: number
  readonly until: number
  readonly attempt: number
  /** the HTTP status; null: none */
  readonly status: number | null
  readonly error: string
}

/** What is known about the current work of one process. Times are wall ms. */
export interface Work {
  status: Status
  /** since when the process has that status */
  statusSince: number
  modelSince: number | null
  /** the characters that the open model call has written so far */
  chars: number
  model: string | null
  compactionSince: number | null
  retry: Retry | null
  /** the limit that was reached last; null: none since the start of the daemon */
  reached: BodyOf<'limit.reached'> | null
  readonly tools: Map<string, OpenTool>
  readonly inputs: Map<string, string>
}

/** The facts that change what is known, besides the status, which each fact carries. */
const WORK_FACTS: ReadonlySet<FactType> = new Set<FactType>([
  'model.started',
  'model.finished',
  'model.failed',
  'tool.started',
  'tool.finished',
  'compaction.started',
  'compaction.failed',
  'context.compacted',
  'call.started',
  'call.finished',
  'limit.reached',
  'process.ready',
  'process.exited',
  'process.resumed',
  'process.attached',
])

export class WorkTracker {
  readonly #works = new Map<Uuid, Work>()

  /** Must be called with the facts of each commit. */
  onFacts(facts: readonly StoredFact[]): void {
    for (const { uuid, body, at, moment } of facts) {
      if (body.type === 'process.reaped') {
        this.#works.delete(uuid)
        continue
      }
      const work = this.#works.get(uuid) ?? this.#begin(uuid, moment?.status ?? 'pending', at)
      if (moment !== undefined && moment.status !== work.status) {
        work.status = moment.status
        work.statusSince = at
      }
      if (WORK_FACTS.has(body.type)) noteFact(work, body, at)
    }
  }

  /** Counts the text that a model has written. Returns true if that changes what is known. */
  onLive(uuid: Uuid, output: LiveOutput): boolean {
    const work = this.#works.get(uuid)
    if (!work || output.type === 'tool-output') return false
    work.chars += output.text.length
    return true
  }

  of(uuid: Uuid): Work | undefined {
    return this.#works.get(uuid)
  }

  #begin(uuid: Uuid, status: Status, at: number): Work {
    const work: Work = {
      status,
      statusSince: at,
      modelSince: null,
      chars: 0,
      model: null,
      compactionSince: null,
      retry: null,
      reached: null,
      tools: new Map(),
      inputs: new Map(),
    }
    this.#works.set(uuid, work)
    return work
  }
}

function noteFact(work: Work, body: FactBody, at: number): void {
  switch (body.type) {
    case 'model.started':
    case 'call.started':
      Object.assign(work, { modelSince: at, chars: 0, model: body.model, retry: null })
      break
    case 'model.finished':
      work.modelSince = null
      for (const part of body.message) if (part.type === 'tool-call') keepInput(work, part.callId, part.input)
      break
    case 'call.finished':
      work.modelSince = null
      break
    case 'model.failed':
    case 'compaction.failed': {
      const { retryInMs, attempt, status, error } = body
      work.modelSince = work.compactionSince = null
      work.retry = retryInMs === null ? null : { since: at, until: at + retryInMs, attempt, status, error }
      break
    }
    case 'compaction.started':
      work.compactionSince = at
      work.retry = null
      break
    case 'context.compacted':
      work.compactionSince = null
      break
    case 'limit.reached':
      work.reached = body
      break
    case 'tool.started':
      work.tools.set(body.callId, { since: at, input: work.inputs.get(body.callId) ?? null })
      work.inputs.delete(body.callId)
      break
    case 'tool.finished':
      work.tools.delete(body.callId)
      work.inputs.delete(body.callId)
      break
    default:
      // The incarnation or the turn has ended: nothing is open now.
      work.modelSince = work.compactionSince = work.retry = null
      work.tools.clear()
      work.inputs.clear()
  }
}

function keepInput({ inputs }: Work, callId: string, input: unknown): void {
  if (inputs.size < MAX_INPUTS) inputs.set(callId, truncate(toolInputLine(input), MAX_INPUT_CHARS, '…'))
}

/** When the process got its status, in wall ms. If that was before the start of the daemon, the nearest time in its row. */
export function statusSince(process: Process, work: Work | undefined): number {
  const { life, clock, asks } = process
  const status = statusOf(process)
  if (work?.status === status)
    // The agent may have asked before a restart of the daemon.
    return status === 'waiting' ? Math.min(work.statusSince, openAsks(process)[0]?.at ?? work.statusSince) : work.statusSince
  switch (life.state) {
    case 'created':
      return clock.updatedAt
    case 'running':
      if (life.stopping) return life.stopping.at
      if (life.holds.length > 0) return clock.pausedAt ?? clock.updatedAt
      return life.activity === 'waiting' ? (asks?.[0]?.at ?? clock.lastActivityAt) : clock.lastActivityAt
    case 'zombie':
    case 'dead':
      return clock.exitedAt ?? clock.updatedAt
  }
}

/** The open call of a running process; null: none is open, or the process is ending. */
export function doingOf(process: Process, work: Work | undefined): DoingView | null {
  const { life, progress, context, calls = [], clock } = process
  if (life.state !== 'running' || life.activity === 'ready' || life.activity === 'starting') return null
  const { step } = progress
  const sinceOr = (at: number | null | undefined): string => isoTime(at ?? clock.lastActivityAt)
  const [tool, ...others] = progress.openCalls.filter((call) => call.asked !== true)
  if (tool) {
    const known = work?.tools.get(tool.callId)
    const input = known?.input ? { input: known.input } : {}
    return {
      step,
      what: 'tool',
      name: tool.name,
      callId: tool.callId,
      ...input,
      since: sinceOr(known?.since),
      ...(others.length > 0 ? { more: others.length } : {}),
    }
  }
  if (context?.compacting) return { step, what: 'compaction', since: sinceOr(work?.compactionSince) }
  if (progress.modelOpen || calls.length > 0) {
    const name = work?.model ?? calls[0]?.model ?? process.spec.model
    const out = work === undefined || work.chars === 0 ? {} : { out: Math.ceil(work.chars / CHARS_PER_TOKEN) }
    return { step, what: 'model', ...(name === null ? {} : { name }), since: sinceOr(work?.modelSince), ...out }
  }
  if (work?.retry) return { step, what: 'retry', since: isoTime(work.retry.since), until: isoTime(work.retry.until) }
  return null
}
