// What a peer of reeve's benchmark does: the same work for reeve, LangGraph and DBOS, each in a process of its own, so that no
// heap is the other's. Must never hold what one of them alone needs. Used by bench/peers.ts.
import { randomBytes } from 'node:crypto'
import { spawnSync } from 'node:child_process'

/** 2 KiB that do not compress and are not alike: nobody is to win by packing them. */
export const text = (bytes = 2_048): string => randomBytes((bytes * 3) / 4).toString('base64')

/** A place on the disk, and for who needs it a database. */
export interface Place {
  readonly dir: string
  readonly url: string
}

/** A session's sizes in bytes; every turn is a message, so many steps, and an answer. */
export interface Session {
  readonly turns: number
  readonly stepsPerTurn: number
  readonly messageBytes: number
}

export interface Peer {
  /** Times of each step of one agent, which is left as it is in the middle of its work. */
  live(place: Place, steps: number): Promise<number[]>
  /** How long so many agents take for so many steps each, at once, in ms. */
  crowd(place: Place, agents: number, steps: number): Promise<number>
  /** Time until the context of a life of so many steps is ready, the database not yet open. */
  resume(place: Place, steps: number): Promise<number>
  /** Times of so many forks of it at its middle. */
  fork(place: Place, steps: number, forks: number): Promise<number[]>
  /** A session from its first message to its last answer. */
  session(place: Place, session: Session): Promise<void>
}

export type Verb = keyof Peer

export type Work =
  | { readonly verb: 'live' | 'resume'; readonly steps: number }
  | { readonly verb: 'crowd'; readonly agents: number; readonly steps: number }
  | { readonly verb: 'fork'; readonly steps: number; readonly forks: number }
  | { readonly verb: 'session'; readonly session: Session }

/** Does it in this process. */
export async function perform(peer: Peer, place: Place, work: Work): Promise<number[]> {
  switch (work.verb) {
    case 'live': return peer.live(place, work.steps)
    case 'crowd': return [await peer.crowd(place, work.agents, work.steps)]
    case 'resume': return [await peer.resume(place, work.steps)]
    case 'fork': return peer.fork(place, work.steps, work.forks)
    case 'session': return peer.session(place, work.session).then(() => [])
  }
}

/** Does it in a process of its own, with `program`, and gives the times that it prints. */
export function inProcess(program: string, name: string, place: Place, work: Work): number[] {
  const { stdout, stderr, status } = spawnSync(process.execPath, [program, 'do', name, JSON.stringify(place), JSON.stringify(work)], { encoding: 'utf8', maxBuffer: 1e8 })
  if (status !== 0) throw new Error(`${name}, ${work.verb}: ${stderr.slice(-2_000)}`)
  return JSON.parse(stdout.trim().split('\n').at(-1) ?? '') as number[]
}
