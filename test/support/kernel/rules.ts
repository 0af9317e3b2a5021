// Checks the guarantees on the facts in the store, as named rules that hold after every possible event. Keeps only the state that
// the rules need, and reports a violation by the name of its rule.
import type { FactBody, StoredFact } from '../../../src/kernel/model/facts.ts'
import type { Process } from '../../../src/kernel/model/process.ts'
import type { Uuid } from '../../../src/kernel/model/ids.ts'

export const RULES = {
  exitOnce: 'an incarnation exits once',
  heldBegins: 'no message is delivered and no model is asked by reeve while a process is held',
  drained: 'drained means that no model call is in flight',
  pidsRise: 'PIDs only rise, over restarts and collections',
  forkHistory: 'a fork has the history of its origin up to the fork, and then its own, without a gap',
  originStays: 'a fork changes nothing of its origin',
  collectedStays: 'a collected process never comes back, and is remembered',
  forkReadable: 'a fork can be read and forked from any step, also without its origins',
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

/** Reads each fact once, in the order of the store. */
export class Rules {
  readonly #broken: (rule: Rule, words: string) => void
  readonly #seen = new Map<Uuid, ProcessState>()
  #highestPid = 0

  constructor(broken: (rule: Rule, words: string) => void) {
    this.#broken = broken
  }

  read({ uuid, body, cursor }: StoredFact): void {
    const seen = this.#seen.get(uuid) ?? { exited: false, external: false, holds: 0, modelOpen: false }
    this.#seen.set(uuid, seen)
    if ('pid' in body) this.#checkPid(uuid, seen, body)
    const rule = this.#violatedRule(seen, body)
    if (rule !== null) this.#broken(rule, `${body.type} of ${uuid} at ${cursor}`)
    advance(seen, body)
  }

  #checkPid(uuid: Uuid, seen: ProcessState, body: Extract<FactBody, { pid: number }>): void {
    if (body.pid <= this.#highestPid) this.#broken('pidsRise', `${body.pid} of ${uuid} after ${this.#highestPid}`)
    this.#highestPid = Math.max(this.#highestPid, body.pid)
    if ('spec' in body && body.spec) seen.external = body.spec.driver !== 'native'
    Object.assign(seen, { modelOpen: false }, body.type === 'process.rehydrated' ? {} : { exited: false, holds: 0 })
  }

  #violatedRule({ exited, external, holds, modelOpen }: ProcessState, body: FactBody): Rule | null {
    const asks = body.type === 'process.incoming' || (body.type === 'model.started' && !external)
    if (asks && holds > 0) return 'heldBegins'
    if (body.type === 'process.exited' && exited) return 'exitOnce'
    if (body.type === 'process.drained' && body.inFlight === null && !external && modelOpen) return 'drained'
    return null
  }
}

function advance(seen: ProcessState, body: FactBody): void {
  if (body.type === 'process.held') seen.holds += 1
  if (body.type === 'process.released') seen.holds -= body.holds.length
  if (body.type === 'process.exited') seen.exited = true
  if (body.type === 'model.started') seen.modelOpen = true
  if (body.type === 'model.finished' || body.type === 'model.failed' || body.type === 'process.attached' || body.type === 'process.started')
    seen.modelOpen = false
}

/** Counts the user's holds of each process. A command that has begun is left out: it cannot be restored. */
export function userHolds(rows: Iterable<Process>): Map<Uuid, number> {
  const found = new Map<Uuid, number>()
  for (const { uuid, life, spec } of rows) {
    if (life.state !== 'running' || life.stopping || spec.driver !== 'native') continue
    const count = life.holds.filter(({ reason, by }) => by === 'user' && (reason === 'user' || reason === 'subtree')).length
    if (count > 0) found.set(uuid, count)
  }
  return found
}
