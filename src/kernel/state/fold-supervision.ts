// The fold of facts about supervisors and restarts. Must never decide about a restart. Test: test/properties/fold.test.ts.
import { CAPABILITIES } from '../model/capabilities.ts'
import { rangesAfterCompaction } from '../model/context.ts'
import type { BodyOf } from '../model/facts.ts'
import type { SupervisedChild, Supervision } from '../model/supervision.ts'
import type { Process } from '../model/process.ts'

const NO_CHILDREN: Supervision = { children: [] }

/** Adds a child. A known child keeps its position, and its restarts are reset. */
export function addChild(process: Process, { id, child: uuid, restart: type, onComplete }: BodyOf<'supervisor.added'>): Process {
  const { children, ...rest } = process.supervision ?? NO_CHILDREN
  const child: SupervisedChild = { id, uuid, type, ...(onComplete === undefined ? {} : { onComplete }) }
  const isKnown = children.some((other) => other.id === id)
  return {
    ...process,
    supervision: { ...rest, children: isKnown ? children.map((other) => (other.id === id ? child : other)) : [...children, child] },
  }
}

export function dropChild(process: Process, { id }: BodyOf<'supervisor.removed'>): Process {
  const { children, ...rest } = process.supervision ?? NO_CHILDREN
  return { ...process, supervision: { ...rest, children: children.filter((other) => other.id !== id) } }
}

/** Records a restart of a child, and adds its group to a group that is already being stopped. */
export function recordChildRestart(process: Process, { id, restarts, delayMs, group }: BodyOf<'supervisor.restarting'>): Process {
  const { children, group: before } = process.supervision ?? NO_CHILDREN
  const ids = [...new Set([...(before?.ids ?? []), ...(group ?? [])])]
  const hasGroup = before !== undefined || group !== undefined
  return {
    ...process,
    supervision: {
      children: children.map((child) => (child.id === id ? { ...child, restarts } : child)),
      ...(hasGroup ? { group: { ids, delayMs: Math.max(delayMs, before?.delayMs ?? 0) } } : {}),
    },
  }
}

/** Clears the group, because all its members have ended and begin again. */
export function clearGroup(process: Process): Process {
  const { group: _, ...supervision } = process.supervision ?? NO_CHILDREN
  return { ...process, supervision }
}

/** The row of a new incarnation. Its restarts are those of the fact, or the old ones if the daemon died; any other resume clears them. */
export function nextIncarnation(process: Process, { restart, rerun }: BodyOf<'process.resumed'>, seq: number): Process {
  const { restart: _, restarts, supervision, keeps: __, refused: ___, ...rest } = process
  const known = restart?.restarts ?? (restart?.after === 'daemon' ? restarts : undefined)
  const next: Process = {
    ...rest,
    ...(restart ? { restart: { attempt: restart.attempt, cause: restart.cause, at: restart.at, dueMono: restart.dueMono } } : {}),
    ...(known ? { restarts: known } : {}),
    ...(supervision ? { supervision: nextSupervision(supervision, restart?.after === 'daemon') } : {}),
  }
  return rerun && CAPABILITIES[process.spec.driver].recordsContext ? withFreshContext(next, seq) : next
}

function nextSupervision({ children }: Supervision, keepsRestarts: boolean): Supervision {
  return { children: keepsRestarts ? children : children.map(({ restarts: _, ...child }) => child) }
}

/** A native agent that starts over is shown nothing of its earlier history. */
function withFreshContext(process: Process, seq: number): Process {
  const { progress, usage, context, queue } = process
  return {
    ...process,
    progress: { ...progress, turnOpen: false },
    usage: { ...usage, contextTokens: 0 },
    context: {
      window: context?.window ?? null,
      ranges: rangesAfterCompaction(
        [],
        queue.map((message) => message.seq),
        seq,
      ),
      compactedStep: progress.wholeStep,
      compacting: false,
    },
  }
}

/** Clears the pending restart, because the incarnation has begun. */
export function withoutPendingRestart({ restart: _, ...process }: Process): Process {
  return process
}
