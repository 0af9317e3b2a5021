// A process that has retired leaves its worktree: it goes when the process is dead, salvaged first; who was stopped or lost keeps it.
// Owns the line in which that is done, through the same door as a removal: one that is being resumed keeps it. What a killed daemon
// did not come to, the next one finds (`Worktrees.sweep`). Test: test/e2e/retired-worktree.test.ts.
import type { StoredFact } from '../kernel/facts.ts'
import type { Process, Uuid } from '../kernel/types.ts'
import type { Removals } from './removals.ts'
import type { Worktrees } from './worktrees.ts'

interface RetirementsParts {
  /** the row of a process, dead or alive */
  readonly find: (uuid: Uuid) => Promise<Process | undefined>
  readonly worktrees: Pick<Worktrees, 'retire'>
  readonly log: (message: string, error: unknown) => void
}

export class Retirements {
  readonly #parts: RetirementsParts
  /** let go, and not seen dead yet */
  readonly #retired = new Set<Uuid>()
  readonly #waiting = new Set<Uuid>()
  #door: Pick<Removals, 'alone'> | null = null
  #running: Promise<void> | null = null

  constructor(parts: RetirementsParts) {
    this.#parts = parts
  }

  connect(door: Pick<Removals, 'alone'>): void {
    this.#door = door
  }

  /** Either may come last: a dead one can be let go, too. */
  see(facts: readonly StoredFact[]): void {
    for (const { uuid, body: { type } } of facts) {
      if (type === 'process.retired') this.#retired.add(uuid)
      if ((type === 'process.reaped' || type === 'process.retired') && this.#retired.has(uuid)) this.#waiting.add(uuid)
    }
    if (this.#waiting.size > 0) this.#running ??= this.#run()
  }

  /** Resolves when none is left. */
  async idle(): Promise<void> {
    await this.#running
  }

  async #run(): Promise<void> {
    for (const uuid of this.#waiting) {
      this.#waiting.delete(uuid)
      await this.#retire(uuid).catch((error: unknown) => this.#parts.log(`the worktree of ${uuid} cannot be removed`, error))
    }
    this.#running = null
  }

  async #retire(uuid: Uuid): Promise<void> {
    const { find, worktrees } = this.#parts
    const known = await find(uuid)
    if (!known || known.life.state !== 'dead') return
    this.#retired.delete(uuid)
    if (!this.#door || !isRetired(known)) return
    await this.#door.alone(uuid, async () => {
      const process = await find(uuid)
      if (process && isRetired(process)) await worktrees.retire(process)
    })
  }
}

/** It has a worktree that nobody goes on in. */
export function isRetired({ life, retiredAt, spec }: Process): boolean {
  return life.state === 'dead' && retiredAt !== null && spec.worktree !== undefined
}
