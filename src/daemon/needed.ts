// Ended processes that somebody who lives still has to look at: the nodes of a run, whose results others need, and the members of a
// crew, with what they left. They are not collected. Owns who they are; whatever a person removes goes.
// Test: test/e2e/compose-kept.test.ts.
import type { Process, Uuid } from '../kernel/types.ts'
import type { Table } from './table.ts'

export class Needed {
  readonly #table: Pick<Table, 'get' | 'rows'>

  constructor(table: Pick<Table, 'get' | 'rows'>) {
    this.#table = table
  }

  /** Those that have ended. */
  all(): ReadonlySet<Uuid> {
    const named = [...this.#table.rows()].flatMap((process) => namedBy(process))
    return new Set(named.filter((uuid) => !this.#table.get(uuid)))
  }

  has({ uuid, spec: { member }, parentUuid }: Process): boolean {
    const owner = member?.crew ?? parentUuid
    const row = owner === null ? undefined : this.#table.get(owner)
    return row !== undefined && namedBy(row).includes(uuid)
  }
}

function namedBy({ compose, crew }: Process): readonly Uuid[] {
  return [...(compose?.nodes ?? []), ...(crew?.members ?? [])].flatMap(({ uuid }) => uuid ?? [])
}
