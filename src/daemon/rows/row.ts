// Makes the row of one process, which all faces show. The sums over the tree are in sums.ts. A row depends on facts, on the table and on
// the tracker of work. It does not depend on the time of the request. So rows of the same state are equal, and a change is the difference
// of two rows. Pure, except for the name of this machine. Test: test/properties/rows.test.ts.
import { hostname } from 'node:os'
import { openAsks } from '../../kernel/decide/asks/asks.ts'
import { CAPABILITIES, isExternal } from '../../kernel/model/capabilities.ts'
import { isSuspended, statusOf } from '../../kernel/model/status.ts'
import { knownCost } from '../../api/known-cost.ts'
import { resumeModes } from '../../kernel/decide/resume-modes.ts'
import { configuredLimits, LIMITS, payerChainOf, WARN_AT } from '../../kernel/state/limits.ts'
import { truncate } from '../../kernel/util/truncate.ts'
import { doingOf, statusSince } from './doing.ts'
import { whyOf, type WhyContext } from './why.ts'
import { attentionOf } from '../needs/row-attention.ts'
import type { Need } from '../needs/needs-of.ts'
import { isoOrNull, isoTime } from '../views/format-times.ts'
import { memberRecord, phaseOf } from '../views/member-view.ts'
import { noteOf, aboutOf, exitView, startDirectory } from '../views/process-view.ts'
import { Table } from '../loop/table.ts'
import { toUsd } from '../../kernel/state/accounts.ts'
import type { RowBudgetView, RowView } from '../../api/views/rows.ts'
import type { Tally } from '../../kernel/state/accounts.ts'
import type { Process } from '../../kernel/model/process.ts'
import type { LiveTable } from '../../kernel/state/live-table.ts'
import type { LimitName } from '../../kernel/model/words.ts'
import type { Uuid } from '../../kernel/model/ids.ts'

const HOST = hostname()
const NO_TABLE = new Table(0)
const MAX_LAST_TEXT = 160

/** The fields of a row that follow from the process itself, from its crew and from the processes that its `why` names. */
export type OwnFields = Omit<RowView, 'sub' | 'budget' | 'budgetOf'>

interface RowContext extends WhyContext {
  /** all needs of the process */
  readonly needs: readonly Need[]
}

export function ownFieldsOf(process: Process, context: RowContext): OwnFields {
  const { uuid, pid, parentUuid, spec, life, progress, usage, clock, originUuid, originStep, files } = process
  return {
    uuid,
    pid,
    parent: parentUuid,
    under: process.parent,
    host: HOST,
    kind: kindOf(process),
    name: spec.name,
    agent: spec.agent,
    driver: spec.driver,
    model: spec.model,
    about: aboutOf(spec),
    directory: startDirectory(spec),
    labels: { ...spec.labels },
    state: life.state,
    status: statusOf(process),
    activity: life.state === 'running' ? life.activity : null,
    liveness: process.liveness?.word ?? null,
    since: isoTime(statusSince(process, context.work)),
    why: whyOf(process, context),
    doing: doingOf(process, context.work),
    // The use of a budget by other processes is left out: it changes all the time.
    note: noteOf(process, { ...context, table: NO_TABLE }, 0),
    step: progress.step,
    turn: progress.turn,
    queue: process.queue.length,
    asks: life.state === 'dead' ? 0 : openAsks(process).length,
    elapsedMs: Math.round(clock.elapsedMs),
    runsSince: clock.since === null ? null : isoOrNull(clock.sinceAt),
    ctx: contextSizeOf(process),
    tokens: {
      input: usage.inputTokens,
      output: usage.outputTokens,
      cacheRead: usage.cacheReadTokens,
      cacheWrite: usage.cacheWriteTokens,
    },
    cost: { usd: knownCost(usage), unpriced: usage.unpriced, estimated: usage.estimated },
    role: spec.member?.role ?? null,
    phase: phaseOf(process, context),
    task: memberRecord(process, context)?.task ?? null,
    branch: files?.branch ?? spec.worktree?.branch ?? null,
    origin: originUuid === null ? null : { uuid: originUuid, step: originStep },
    ...continuationOf(process),
    ...attentionOf(process, context.needs),
    pinned: process.pinned,
    lastText: progress.lastText === null ? null : truncate(progress.lastText, MAX_LAST_TEXT, '…'),
    exit: exitView(life),
    createdAt: isoTime(clock.createdAt),
    endedAt: life.state === 'dead' ? isoTime(clock.exitedAt ?? clock.updatedAt) : null,
    seq: process.seq,
  }
}

function kindOf({ spec: { driver } }: Process): RowView['kind'] {
  switch (driver) {
    case 'crew':
    case 'supervisor':
    case 'command':
      return driver
    case 'compose':
      return 'run'
    default:
      return 'agent'
  }
}

/** A native agent is compacted when its context and the room for an answer fill this share of the window. */
const FULL_SHARE = 0.85

/** The size of the context of a process, and when it is compacted, in tokens; null while its window is unknown. */
export function contextSizeOf({ context, usage, spec }: Process): RowView['ctx'] {
  const window = context?.window ?? null
  if (window === null) return null
  const isCompacted = CAPABILITIES[spec.driver].recordsContext
  return {
    used: usage.contextTokens,
    window,
    compactsAt: isCompacted ? Math.max(0, Math.floor(FULL_SHARE * window - (context?.answer ?? 0))) : null,
  }
}

function continuationOf(process: Process): Pick<RowView, 'forks' | 'resumes'> {
  const { fork, continue: obstacle, rerun } = resumeModes(process)
  return {
    forks: fork !== null ? 'no' : isExternal(process.spec) ? 'now' : 'any step',
    resumes: isSuspended(process) || (process.life.state === 'dead' && (obstacle === null || rerun === null)),
  }
}

/** The limits that usage fills up, with the part that open calls reserve. */
const RESERVED: { readonly [L in LimitName]?: (tally: Tally) => number } = {
  budgetUsd: ({ reservedNanoUsd }) => toUsd(reservedNanoUsd),
  budgetTokens: ({ reservedTokens }) => reservedTokens,
  maxOutputTokens: ({ reservedOutputTokens }) => reservedOutputTokens,
}

/**
 * Of the process's own limits, the one of which the largest share is used. Limits of time and of children are left out: usage does not fill
 * them up. `tally`: the usage of the process and of all that it pays for.
 */
export function budgetOf(process: Process, tally: Tally): RowBudgetView | null {
  const { limits } = process.spec
  const names = configuredLimits(limits).filter(isFilledByUsage)
  if (names.length === 0) return null
  const views = names.map((limit) => ({
    limit,
    used: Math.round(LIMITS[limit].used({ process, tally, now: 0 }) * 1e9) / 1e9,
    reserved: RESERVED[limit]?.(tally) ?? 0,
    of: limits[limit] ?? 0,
    warnAt: limits.warnAt ?? WARN_AT,
  }))
  return views.reduce((nearest, view) => (shareOf(view) > shareOf(nearest) ? view : nearest))
}

function isFilledByUsage(limit: LimitName): boolean {
  const { when } = LIMITS[limit]
  return when !== 'clock' && when !== 'ask'
}

function shareOf({ used, of }: RowBudgetView): number {
  return of === 0 ? 1 : used / of
}

/** The nearest process with a limit for which the usage of this process counts, itself included; null: there is none. */
export function budgetScopeOf(table: LiveTable, process: Process): Uuid | null {
  const found = payerChainOf(table, process).find(({ spec: { limits } }) => configuredLimits(limits).some(isFilledByUsage))
  return found?.uuid ?? null
}
