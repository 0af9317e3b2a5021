// Checks a copy of a dead daemon's store: journals have no gaps, and each row is the fold of its journal. Only the copy is opened, so
// that the next daemon must recover the store itself.
import { copyFile, rm } from 'node:fs/promises'
import { existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { fold } from '../../../src/kernel/state/fold.ts'
import type { StoredFact } from '../../../src/kernel/model/facts.ts'
import type { Process } from '../../../src/kernel/model/process.ts'
import { openSqliteStore } from '../../../src/store/sqlite.ts'
import type { HomeStore } from '../../../src/store/store.ts'
import { isSameJson } from '../same-json.ts'
import type { Uuid } from '../../../src/kernel/model/ids.ts'

const PAGE_SIZE = 1_000
const STORE_FILES = ['store.db', 'store.db-wal']

export interface Journal {
  readonly process: Process
  readonly facts: readonly StoredFact[]
}

export interface StoreCheck {
  readonly journals: ReadonlyMap<Uuid, Journal>
  /** all facts in the order of the store */
  readonly facts: readonly StoredFact[]
  /** the violations as text */
  readonly violations: readonly string[]
}

/** Checks the store of `home`, where no daemon may run. A missing store has no violations. */
export async function checkStore(home: string, scratch: string): Promise<StoreCheck> {
  if (!existsSync(join(home, 'store.db'))) return { journals: new Map(), facts: [], violations: [] }
  mkdirSync(scratch, { mode: 0o700 })
  try {
    for (const name of STORE_FILES) if (existsSync(join(home, name))) await copyFile(join(home, name), join(scratch, name))
    await using store = await openSqliteStore({ dir: scratch })
    return await checkOpenStore(store)
  } finally {
    await rm(scratch, { recursive: true, force: true })
  }
}

async function checkOpenStore(store: HomeStore): Promise<StoreCheck> {
  const violations: string[] = [...(await store.verify())]
  const facts = await readAllPages((last: StoredFact | undefined) => store.since({ afterCursor: last?.cursor ?? 0, limit: PAGE_SIZE }))
  facts.forEach(({ cursor }, index) => {
    if (cursor !== index + 1) violations.push(`fact ${index + 1} of the store has cursor ${cursor}`)
  })
  const journals = new Map<Uuid, Journal>()
  for (const [uuid, factsInStoreOrder] of Map.groupBy(facts, (fact) => fact.uuid)) {
    const journalFacts = await readAllPages((last: StoredFact | undefined) => store.facts(uuid, last?.seq ?? 0, PAGE_SIZE))
    const process = await store.process(uuid)
    violations.push(...compareJournal(uuid, journalFacts, factsInStoreOrder), ...compareRow(uuid, journalFacts, process))
    if (process) journals.set(uuid, { process, facts: journalFacts })
  }
  return { journals, facts, violations }
}

/**
 * Checks that a journal counts from 1 without gaps. Its facts must be the same in a read of the journal and in a read of the whole store.
 */
function compareJournal(uuid: Uuid, journalFacts: readonly StoredFact[], factsInStoreOrder: readonly StoredFact[]): string[] {
  const gapIndex = journalFacts.findIndex(({ seq }, index) => seq !== index + 1)
  const wrong = gapIndex >= 0 ? [`the journal of ${uuid} has fact ${journalFacts[gapIndex]?.seq} in place ${gapIndex + 1}`] : []
  return isSameJson(journalFacts, factsInStoreOrder)
    ? wrong
    : [...wrong, `the journal of ${uuid} reads differently in the order of the store`]
}

function compareRow(uuid: Uuid, facts: readonly StoredFact[], process: Process | undefined): string[] {
  let folded: Process | undefined
  for (const fact of facts) folded = fold(folded, fact)
  if (process === undefined) return [`${uuid} has facts and no row`]
  return isSameJson(process, folded)
    ? []
    : [`the row of ${uuid} is not the fold of its journal:\n${JSON.stringify(process)}\n${JSON.stringify(folded)}`]
}

async function readAllPages<T>(next: (last: T | undefined) => Promise<readonly T[]>): Promise<T[]> {
  const all: T[] = []
  for (;;) {
    const page = await next(all.at(-1))
    all.push(...page)
    if (page.length < PAGE_SIZE) return all
  }
}
