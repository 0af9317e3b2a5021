// What the facts of supervision change in a process: rows of the fold (fold.ts), kept apart as they are about restarts alone.
// Owns how restarts are remembered and forgotten. Must never decide one. Test: test/properties/fold.test.ts.
import { rangesAfter } from './ranges.ts'
import type { FactBody } from './facts.ts'
import type { SupervisedChild, Supervision } from './supervision.ts'
import type { Process } from './types.ts'

type BodyOf<T extends FactBody['type']> = Extract<FactBody, { type: T }>

const NO_CHILDREN: Supervision = { children: [] }

/** It keeps its place among the others; what it was restarted for is forgiven. */
export function childAdded(process: Process, { id, child: uuid, restart: type, onComplete }: BodyOf<'supervisor.added'>): Process {
  const { children, ...rest } = process.supervision ?? NO_CHILDREN
  const child: SupervisedChild = { id, uuid, type, ...(onComplete === undefined ? {} : { onComplete }) }
  const isKnown = children.some((other) => other.id === id)
  return { ...process, supervision: { ...rest, children: isKnown ? children.map((other) => (other.id === id ? child : other)) : [...children, child] } }
}

export function childRemoved(process: Process, { id }: BodyOf<'supervisor.removed'>): Process {
  const { children, ...rest } = process.supervision ?? NO_CHILDREN
  return { ...process, supervision: { ...rest, children: children.filter((other) => other.id !== id) } }
}

/** Who is to be stopped already is stopped once. */
export function childRestarting(process: Process, { id, restarts, delayMs, group }: BodyOf<'supervisor.restarting'>): Process {
  const { children, group: before } = process.supervision ?? NO_CHILDREN
  const ids = [...new Set([...(before?.ids ?? []), ...(group ?? [])])]
  const isGroup = before !== undefined || group !== undefined
  return {
    ...process,
    supervision: {
      children: children.map((child) => (child.id === id ? { ...child, restarts } : child)),
      ...(isGroup ? { group: { ids, delayMs: Math.max(delayMs, before?.delayMs ?? 0) } } : {}),
    },
  }
}

/** The group is down, and begins again. */
export function groupRestarted(process: Process): Process {
  const { group: _, ...supervision } = process.supervision ?? NO_CHILDREN
  return { ...process, supervision }
}

/** A new incarnation. Only after a death of the daemon are its restarts remembered: who resumes it gives it another chance. */
export function reborn(process: Process, { restart, rerun }: BodyOf<'process.resumed'>, seq: number): Process {
  const { restart: _, restarts, supervision, keeps: __, refused: ___, ...rest } = process
  const known = restart?.restarts ?? (restart?.after === 'daemon' ? restarts : undefined)
  const next: Process = {
    ...rest,
    ...(restart ? { restart: { attempt: restart.attempt, cause: restart.cause, at: restart.at, dueMono: restart.dueMono } } : {}),
    ...(known ? { restarts: known } : {}),
    ...(supervision ? { supervision: supervisionAfter(supervision, restart?.after === 'daemon') } : {}),
  }
  return rerun && process.spec.driver === 'native' ? afresh(next, seq) : next
}

function supervisionAfter({ children }: Supervision, remembers: boolean): Supervision {
  return { children: remembers ? children : children.map(({ restarts: _, ...child }) => child) }
}

/** A native agent that begins afresh is shown nothing of what was before. */
function afresh(process: Process, seq: number): Process {
  const { progress, usage, context, queue } = process
  return {
    ...process,
    progress: { ...progress, turnOpen: false },
    usage: { ...usage, contextTokens: 0 },
    context: { window: context?.window ?? null, ranges: rangesAfter([], queue.map((message) => message.seq), seq), compactedStep: progress.wholeStep, compacting: false },
  }
}

export function began({ restart: _, ...process }: Process): Process {
  return process
}

/** It is no longer what the provider refused. */
export function answered(process: Process): Process {
  if (process.refused === undefined) return process
  const { refused: _, ...rest } = process
  return rest
}
