// The guarantees that simulations and crash tests check, by name. `Rules` checks those that the facts in the store show. The files
// simulation.ts and forks-and-removals.ts check the others. `countUserHolds` helps with `holdStays`.
import type { FactBody, StoredFact } from '../../../src/kernel/model/facts.ts'
import type { Process } from '../../../src/kernel/model/process.ts'
import type { Uuid } from '../../../src/kernel/model/ids.ts'

export const RULES = {
  exitOnce: 'an incarnation exits once',
  heldBegins: 'while a process is held, reeve delivers no message and calls no model',
  drained: 'a drained process has no model call in flight',
  pidsRise: 'PIDs only rise, even after restarts and collections',
  forkHistory: 'a fork has the history of its origin up to the fork, and then its own, without a gap',
  originStays: 'a fork does not change its origin',
  collectedStays: 'a collected process never comes back, and is remembered',
  forkReadable: 'a fork can be read and forked from any step, even after the removal of its origins',
  holdStays: 'a pause of the user outlives a restart',
  nothingLeft: 'removed processes leave nothing but the record of their removal',
  pinStays: 'a pinned process is not collected',
  cursors: 'a missing cursor belonged to a removed process',
} as const

export type Rule = keyof typeof RULES

interface ProcessState {
  exited: boolean
  external: boolean
  holds: number
  modelOpen: boolean
}

/** Checks the facts of a store. `read` gets each fact once, in the order of the store. */
export class Rules {
  readonly #reportViolation: (rule: Rule, description: string) => void
  readonly #seen = new Map<Uuid, ProcessState>()
  #highestPid = 0

  constructor(reportViolation: (rule: Rule, description: string) => void) {
    this.#reportViolation = reportViolation
  }

  read({ uuid, body, cursor }: StoredFact): void {
    const state = this.#seen.get(uuid) ?? { exited: false, external: false, holds: 0, modelOpen: false }
    this.#seen.set(uuid, state)
    if ('pid' in body) this.#checkPid(uuid, state, body)
    const rule = this.#violatedRule(state, body)
    if (rule !== null) this.#reportViolation(rule, `${body.type} of ${uuid} at ${cursor}`)
    advanceState(state, body)
  }

  /** Checks the PID of a new incarnation, and begins its state. A `process.rehydrated` keeps the holds and the exit of the one before. */
  #checkPid(uuid: Uuid, state: ProcessState, body: Extract<FactBody, { pid: number }>): void {
    if (body.pid <= this.#highestPid) this.#reportViolation('pidsRise', `${body.pid} of ${uuid} after ${this.#highestPid}`)
    this.#highestPid = Math.max(this.#highestPid, body.pid)
    if ('spec' in body && body.spec) state.external = body.spec.driver !== 'native'
    Object.assign(state, { modelOpen: false }, body.type === 'process.rehydrated' ? {} : { exited: false, holds: 0 })
  }

  #violatedRule({ exited, external, holds, modelOpen }: ProcessState, body: FactBody): Rule | null {
    const startsWork = body.type === 'process.incoming' || (body.type === 'model.started' && !external)
    if (startsWork && holds > 0) return 'heldBegins'
    if (body.type === 'process.exited' && exited) return 'exitOnce'
    if (body.type === 'process.drained' && body.inFlight === null && !external && modelOpen) return 'drained'
    return null
  }
}

function advanceState(state: ProcessState, body: FactBody): void {
  if (body.type === 'process.held') state.holds += 1
  if (body.type === 'process.released') state.holds -= body.holds.length
  if (body.type === 'process.exited') state.exited = true
  if (body.type === 'model.started') state.modelOpen = true
  if (body.type === 'model.finished' || body.type === 'model.failed' || body.type === 'process.attached' || body.type === 'process.started')
    state.modelOpen = false
}

/** Counts the user's holds of each native process. Other processes are left out: a command that has begun cannot be restored. */
export function countUserHolds(rows: Iterable<Process>): Map<Uuid, number> {
  const found = new Map<Uuid, number>()
  for (const { uuid, life, spec } of rows) {
    if (life.state !== 'running' || life.stopping || spec.driver !== 'native') continue
    const count = life.holds.filter(({ reason, by }) => by === 'user' && (reason === 'user' || reason === 'subtree')).length
    if (count > 0) found.set(uuid, count)
  }
  return found
}
