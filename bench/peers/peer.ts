// The interface of a peer in the benchmark: the same work for reeve, LangGraph and DBOS. Each has its own process and heap.
// Must never contain code that only one of them needs. Used by bench/peers.ts.
import { spawnSync } from 'node:child_process'

/** A directory on disk, and a database for peers that need one. */
export interface Place {
  readonly dir: string
  readonly url: string
}

/** The size of a session: each turn is a message, a number of steps, and an answer. Only `messageBytes` is in bytes. */
export interface Session {
  readonly turns: number
  readonly stepsPerTurn: number
  readonly messageBytes: number
}

export interface Peer {
  /** The times of each step of one agent, which is left in the middle of its work. */
  runSteps(place: Place, steps: number): Promise<number[]>
  /** The time in ms that `agents` need for `steps` each, in parallel. */
  runInParallel(place: Place, agents: number, steps: number): Promise<number>
  /** The time until the context of an agent with that number of steps is ready, including opening the database. */
  resume(place: Place, steps: number): Promise<number>
  /** The times of forks of an agent with that number of steps, each at the middle step. */
  fork(place: Place, steps: number, forks: number): Promise<number[]>
  /** Plays a session from its first message to its last answer. Only its size on the disk is measured. */
  session(place: Place, session: Session): Promise<void>
}

export type Work =
  | { readonly type: 'runSteps' | 'resume'; readonly steps: number }
  | { readonly type: 'runInParallel'; readonly agents: number; readonly steps: number }
  | { readonly type: 'fork'; readonly steps: number; readonly forks: number }
  | { readonly type: 'session'; readonly session: Session }

/** Runs the peer in this process. */
export async function perform(peer: Peer, place: Place, work: Work): Promise<number[]> {
  switch (work.type) {
    case 'runSteps':
      return peer.runSteps(place, work.steps)
    case 'runInParallel':
      return [await peer.runInParallel(place, work.agents, work.steps)]
    case 'resume':
      return [await peer.resume(place, work.steps)]
    case 'fork':
      return peer.fork(place, work.steps, work.forks)
    case 'session':
      return peer.session(place, work.session).then(() => [])
  }
}

/** Runs the peer in a separate process, with `program`, and returns the times that it prints. */
export function performInSubprocess(program: string, name: string, place: Place, work: Work): number[] {
  const { stdout, stderr, status } = spawnSync(process.execPath, [program, 'do', name, JSON.stringify(place), JSON.stringify(work)], {
    encoding: 'utf8',
    maxBuffer: 1e8,
  })
  if (status !== 0) throw new Error(`${name}, ${work.type}: ${stderr.slice(-2_000)}`)
  return JSON.parse(stdout.trim().split('\n').at(-1) ?? '') as number[]
}
