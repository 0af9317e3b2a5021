// Removes the worktrees in which merges were verified, when their crew has ended. The next daemon removes those that a killed daemon left.
// Test: test/processes/crew/verify.test.ts.
import { existsSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { isLiving } from '../../../kernel/model/status.ts'
import type { StoredFact } from '../../../kernel/model/facts.ts'
import type { Process } from '../../../kernel/model/process.ts'
import type { CrewGit } from './git.ts'
import type { Uuid } from '../../../kernel/model/ids.ts'

export interface TrialWorktreesDeps {
  readonly find: (uuid: Uuid) => Promise<Process | null | undefined>
  readonly git: Pick<CrewGit, 'dropTrial'>
  /** the folder of all worktrees */
  readonly worktrees: string
}

export class TrialWorktrees {
  readonly #deps: TrialWorktreesDeps
  readonly #removals = new Set<Promise<void>>()

  constructor(deps: TrialWorktreesDeps) {
    this.#deps = deps
  }

  /** Starts the removal for each crew that has ended. */
  onFacts(facts: readonly StoredFact[]): void {
    for (const {
      uuid,
      body: { type },
    } of facts) {
      if (type !== 'process.exited' || !existsSync(join(this.#deps.worktrees, uuid))) continue
      const removal = this.#removeIfEnded(uuid).finally(() => this.#removals.delete(removal))
      this.#removals.add(removal)
    }
  }

  /** Resolves when all pending removals are done. */
  async waitForRemovals(): Promise<void> {
    await Promise.all(this.#removals)
  }

  /** Removes the worktrees of ended crews that an earlier daemon left. */
  async removeLeftovers(): Promise<void> {
    // A folder that cannot be read does no harm: the next daemon tries again.
    for (const name of await readdir(this.#deps.worktrees).catch((): string[] => [])) await this.#removeIfEnded(name)
  }

  async #removeIfEnded(uuid: Uuid): Promise<void> {
    const process = await this.#deps.find(uuid)
    if (process?.spec.crew && !isLiving(process)) await this.#deps.git.dropTrial(process)
  }
}
