// What the drivers can do: the one table that pausing, resuming and a daemon's start go by.
// Owns the line between our own agents, agents that others wrote (they report what has already happened, and have a
// session of their own) and plain commands. Test: test/tables/external.test.ts.
import type { DriverName, Process, ProcessSpec } from './types.ts'

interface DriverCapabilities {
  /** takes messages while it runs, and has a turn for each; a command may do so, too (`takesMessages`) */
  readonly messages: boolean
  /** has a boundary to stop at; else each pause freezes it */
  readonly softPause: boolean
  /** has no program, and children with ids, which it brings back (supervising.ts) */
  readonly keeps: boolean
}

export const CAPABILITIES: Readonly<Record<DriverName, DriverCapabilities>> = {
  native: { messages: true, softPause: true, keeps: false },
  acp: { messages: true, softPause: true, keeps: false },
  command: { messages: false, softPause: false, keeps: false },
  supervisor: { messages: false, softPause: true, keeps: true },
  crew: { messages: false, softPause: true, keeps: true },
  compose: { messages: false, softPause: true, keeps: true },
}

type Kind = Pick<ProcessSpec, 'driver' | 'format'>

/** A command with a conversation: each turn is one program, which goes on with the session of the one before. Of a command line that somebody typed nobody knows where its prompt stands. */
export function isConversation({ driver, format, interactive, agent }: Pick<ProcessSpec, 'driver' | 'format' | 'interactive' | 'agent'>): boolean {
  return driver === 'command' && format !== undefined && interactive && agent !== 'command'
}

/** It takes messages while it runs, and has a turn for each. */
export function takesMessages(spec: Pick<ProcessSpec, 'driver' | 'format' | 'interactive' | 'agent'>): boolean {
  return CAPABILITIES[spec.driver].messages || isConversation(spec)
}

/** An agent that others wrote: what it reports has happened, whatever holds and budgets there are. */
export function isExternal({ driver, format }: Kind): boolean {
  return driver === 'acp' || (driver === 'command' && format !== undefined)
}

export function isPlainCommand({ driver, format }: Kind): boolean {
  return driver === 'command' && format === undefined
}

/** What an ended process goes on from. `rerun`: from nothing; it can only be run again, from its beginning. */
export function goesOnFrom({ spec, sessionId, forkOf, progress }: Pick<Process, 'spec' | 'sessionId' | 'forkOf' | 'progress'>): 'context' | 'session' | 'rerun' {
  if (spec.driver === 'native' || CAPABILITIES[spec.driver].keeps) return 'context'
  if (isPlainCommand(spec)) return 'rerun'
  // Nothing was asked of it yet: what waits is delivered to a session that begins.
  const untouched = takesMessages(spec) && progress.turn === 0
  return sessionId !== null || forkOf !== undefined || untouched ? 'session' : 'rerun'
}
