// Finds the ended processes that a process of the table still needs. These are members of a crew, and nodes of a compose run, whose
// results other nodes use. Such processes are exempt from collection, but the user can remove them.
// Test: test/e2e/compose/collection.test.ts.
import type { Process } from '../../kernel/model/process.ts'
import type { Table } from '../loop/table.ts'
import type { Uuid } from '../../kernel/model/ids.ts'

export class GcExemptions {
  readonly #table: Pick<Table, 'get' | 'rows'>

  constructor(table: Pick<Table, 'get' | 'rows'>) {
    this.#table = table
  }

  /** Returns all exempt processes. */
  all(): ReadonlySet<Uuid> {
    const referenced = [...this.#table.rows()].flatMap((process) => referencedBy(process))
    return new Set(referenced.filter((uuid) => !this.#table.get(uuid)))
  }

  /** True if an ended process is exempt. */
  has({ uuid, spec: { member }, parentUuid }: Process): boolean {
    const ownerUuid = member?.crew ?? parentUuid
    const owner = ownerUuid === null ? undefined : this.#table.get(ownerUuid)
    return owner !== undefined && referencedBy(owner).includes(uuid)
  }
}

/** The nodes of a compose run, or the members of a crew. */
function referencedBy({ compose, crew }: Process): readonly Uuid[] {
  return [...(compose?.nodes ?? []), ...(crew?.members ?? [])].flatMap(({ uuid }) => uuid ?? [])
}
