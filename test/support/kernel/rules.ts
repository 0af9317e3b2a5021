// The rules that hold after everything that can happen to processes, each by its name: what is promised, as a simulation
// sees them from outside, in the facts that the store has. Keeps only what the rules need; a broken one is told by its name.
import type { FactBody, StoredFact } from '../../../src/kernel/facts.ts'
import type { Process, Uuid } from '../../../src/kernel/types.ts'

export const RULES = {
  exitOnce: 'an incarnation exits once',
  heldBegins: 'no message is delivered and no model is asked by reeve while a process is held',
  drained: 'drained means that no model call is in flight',
  pidsRise: 'PIDs only rise, over restarts and collections',
  forkHistory: 'the history of a fork is what its origin had up to the fork, and then its own, without a gap',
  originStays: 'a fork changes nothing of its origin',
  collectedStays: 'what was collected never comes back, and is remembered',
  forkReadable: 'a fork that was kept can be read and forked from any step, whatever became of its origins',
  holdStays: 'what a person paused stays paused over a restart',
  nothingLeft: 'when all are removed, nothing of them takes room but what remembers them',
  pinStays: 'what is pinned is not collected',
  cursors: 'a cursor that is missing was of a removed process',
} as const

export type Rule = keyof typeof RULES

interface Seen {
  exited: boolean
  external: boolean
  holds: number
  modelOpen: boolean
}

/** Reads the facts in the order of the store, once each. */
export class Rules {
  readonly #broken: (rule: Rule, words: string) => void
  readonly #seen = new Map<Uuid, Seen>()
  #highestPid = 0

  constructor(broken: (rule: Rule, words: string) => void) {
    this.#broken = broken
  }

  read({ uuid, body, cursor }: StoredFact): void {
    const seen = this.#seen.get(uuid) ?? { exited: false, external: false, holds: 0, modelOpen: false }
    this.#seen.set(uuid, seen)
    if ('pid' in body) this.#born(uuid, seen, body)
    const rule = this.#against(seen, body)
    if (rule !== null) this.#broken(rule, `${body.type} of ${uuid} at ${cursor}`)
    advance(seen, body)
  }

  #born(uuid: Uuid, seen: Seen, body: Extract<FactBody, { pid: number }>): void {
    if (body.pid <= this.#highestPid) this.#broken('pidsRise', `${body.pid} of ${uuid} after ${this.#highestPid}`)
    this.#highestPid = Math.max(this.#highestPid, body.pid)
    if ('spec' in body && body.spec) seen.external = body.spec.driver !== 'native'
    Object.assign(seen, { modelOpen: false }, body.type === 'process.rehydrated' ? {} : { exited: false, holds: 0 })
  }

  #against({ exited, external, holds, modelOpen }: Seen, body: FactBody): Rule | null {
    const asks = body.type === 'process.incoming' || (body.type === 'model.started' && !external)
    if (asks && holds > 0) return 'heldBegins'
    if (body.type === 'process.exited' && exited) return 'exitOnce'
    if (body.type === 'process.drained' && body.inFlight === null && !external && modelOpen) return 'drained'
    return null
  }
}

function advance(seen: Seen, body: FactBody): void {
  if (body.type === 'process.held') seen.holds += 1
  if (body.type === 'process.released') seen.holds -= body.holds.length
  if (body.type === 'process.exited') seen.exited = true
  if (body.type === 'model.started') seen.modelOpen = true
  if (body.type === 'model.finished' || body.type === 'model.failed' || body.type === 'process.attached' || body.type === 'process.started') seen.modelOpen = false
}

/** What a person paused, by process; a command that began has nothing to come back from. */
export function personHolds(rows: Iterable<Process>): Map<Uuid, number> {
  const found = new Map<Uuid, number>()
  for (const { uuid, life, spec } of rows) {
    if (life.state !== 'running' || life.stopping || spec.driver !== 'native') continue
    const count = life.holds.filter(({ reason, by }) => by === 'user' && (reason === 'user' || reason === 'subtree')).length
    if (count > 0) found.set(uuid, count)
  }
  return found
}
