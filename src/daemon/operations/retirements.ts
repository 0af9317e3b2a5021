// Salvages and removes the worktree of each retired process when the process is dead. A stopped or interrupted process keeps its worktree.
// Must never remove a worktree during a resume of its process. Removals that a killed daemon did not finish are done at the next start
// (`Worktrees.sweep`). Test: test/e2e/worktree/retired-worktree.test.ts.
import type { StoredFact } from '../../kernel/model/facts.ts'
import type { Process } from '../../kernel/model/process.ts'
import type { Removals } from './removals.ts'
import type { Worktrees } from './worktrees.ts'
import type { Uuid } from '../../kernel/model/ids.ts'
import { hasWorktreeToRetire } from './has-worktree-to-retire.ts'

interface RetirementsDeps {
  /** returns a process, dead or alive */
  readonly find: (uuid: Uuid) => Promise<Process | undefined>
  readonly worktrees: Pick<Worktrees, 'retire'>
  readonly log: (message: string, error: unknown) => void
}

export class Retirements {
  readonly #deps: RetirementsDeps
  /** retired processes that are not dead yet */
  readonly #retiredUuids = new Set<Uuid>()
  /** dead retired processes whose worktree is not removed yet */
  readonly #pendingUuids = new Set<Uuid>()
  #exclusion: Pick<Removals, 'runExclusively'> | null = null
  #activeRun: Promise<void> | null = null

  constructor(deps: RetirementsDeps) {
    this.#deps = deps
  }

  /** Connects the exclusion of other operations, which is created after this object. */
  connect(exclusion: Pick<Removals, 'runExclusively'>): void {
    this.#exclusion = exclusion
  }

  /** Must be called with the facts of each commit. A process may be reaped before or after it retires. */
  onFacts(facts: readonly StoredFact[]): void {
    for (const {
      uuid,
      body: { type },
    } of facts) {
      if (type === 'process.retired') this.#retiredUuids.add(uuid)
      if ((type === 'process.reaped' || type === 'process.retired') && this.#retiredUuids.has(uuid)) this.#pendingUuids.add(uuid)
    }
    if (this.#pendingUuids.size > 0) this.#activeRun ??= this.#removePending()
  }

  /** Resolves when no removal is pending. */
  async waitUntilIdle(): Promise<void> {
    await this.#activeRun
  }

  async #removePending(): Promise<void> {
    for (const uuid of this.#pendingUuids) {
      this.#pendingUuids.delete(uuid)
      await this.#retire(uuid).catch((error: unknown) => this.#deps.log(`the worktree of ${uuid} cannot be removed`, error))
    }
    this.#activeRun = null
  }

  async #retire(uuid: Uuid): Promise<void> {
    const { find, worktrees } = this.#deps
    const found = await find(uuid)
    if (found && found.life.state !== 'dead') return
    this.#retiredUuids.delete(uuid)
    if (!found || !this.#exclusion || !hasWorktreeToRetire(found)) return
    await this.#exclusion.runExclusively(uuid, async () => {
      const process = await find(uuid)
      if (process && hasWorktreeToRetire(process)) await worktrees.retire(process)
    })
  }
}
