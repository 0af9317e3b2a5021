// A commit as it will be written: checked and encoded, and nothing touched yet. A plan that fails has changed nothing.
// Owns what may be written at all: facts without a gap, a row for each process that has facts, cursors and PIDs within their counters.
// Test: test/tables/store-refusals.test.ts.
import { KernelError } from '../kernel/errors.ts'
import type { FactType, Origin, StoredFact } from '../kernel/facts.ts'
import type { Process, Uuid } from '../kernel/types.ts'
import { encode } from './blobs.ts'
import type { Blob } from './blobs.ts'
import { packBody } from './codes.ts'
import type { Head, Heads } from './heads.ts'
import type { Lines } from './lines.ts'
import { BLOCK_FACTS, addEntry, blockOf, firstCursor } from './places.ts'
import type { FactRow } from './statements.ts'
import type { Commit, Counters } from './store.ts'

/** Facts that come with every step and change no indexed column: the row may be written later, and the fold of them until then. */
const STEP_FACTS: ReadonlySet<FactType> = new Set<FactType>([
  'model.started', 'model.finished', 'model.failed', 'tool.started', 'tool.finished', 'process.output',
])
/** Those of crews and runs neither: their rows have all tasks and nodes, so that a fact of a hundred bytes would write half a megabyte. */
const OF_FAMILIES = /^(?:crew|task|compose)\./

/** A head on its way. `moved`: it has facts in this commit; `settle`: its row must be written in this commit; `checked`: its row is in it. */
export type Draft = { -readonly [K in keyof Head]: Head[K] } & { moved: boolean; settle: boolean; checked: boolean }

/** A block of places that became full: process, block, its first cursor, its entries. */
type Block = readonly [key: number, block: number, first: number, entries: string]

/** A long text, and how many times the facts of this plan name it. */
export interface UsedBlob extends Blob {
  uses: number
}

export interface Plan {
  readonly counters: Counters
  readonly drafts: ReadonlyMap<Uuid, Draft>
  readonly facts: readonly Omit<FactRow, 'sum'>[]
  readonly blocks: readonly Block[]
  readonly blobs: ReadonlyMap<string, UsedBlob>
  readonly newKeys: number
}

export class Planner implements Plan {
  readonly drafts = new Map<Uuid, Draft>()
  readonly facts: Omit<FactRow, 'sum'>[] = []
  readonly blocks: Block[] = []
  readonly blobs = new Map<string, UsedBlob>()
  counters: Counters
  newKeys = 0
  readonly #heads: Heads
  readonly #lines: Lines
  readonly #lastKey: number

  constructor(heads: Heads, lines: Lines, counters: Counters, lastKey: number) {
    this.#heads = heads
    this.#lines = lines
    this.#lastKey = lastKey
    this.counters = counters
  }

  /** Checks and encodes a whole commit. Errors: `INTERNAL` for what cannot follow, `INVALID` for a text that is too long. */
  add(commit: Commit): Plan {
    const pid = Math.max(commit.counters.pid, this.counters.pid)
    for (const fact of commit.facts) this.#addFact(fact)
    for (const process of commit.processes) {
      const draft = this.draft(process.uuid)
      checkProcess(process, draft)
      if (process.pid > pid) throw broken(`PID ${process.pid} is above its counter.`, process)
      if (draft.checked) throw broken('A process stands twice in one commit.', process)
      draft.checked = true
    }
    for (const draft of this.drafts.values()) {
      if (!draft.checked) throw broken('A process has facts in a commit and no row.', draft)
    }
    this.counters = { pid, cursor: Math.max(commit.counters.cursor, this.counters.cursor) }
    return this
  }

  #addFact(fact: StoredFact): void {
    const draft = fact.body.type === 'process.forked' ? this.#forkDraft(fact, fact.body.origin) : this.draft(fact.uuid)
    const { cursor, seq, pid, at } = fact
    if (seq !== draft.seq + 1) throw broken(`Fact ${seq} cannot follow ${draft.seq}.`, fact)
    if (!Number.isSafeInteger(cursor) || cursor <= this.counters.cursor) throw broken(`Cursor ${cursor} cannot follow ${this.counters.cursor}.`, fact)
    if (!Number.isSafeInteger(at) || !Number.isSafeInteger(pid)) throw broken('A fact has no whole time or PID.', fact)
    const { code, values } = packBody(fact.body)
    const { body, refs, blobs } = encode(values)
    this.facts.push({ cursor, process: draft.key, seq, pid, at, type: code, body, refs })
    for (const blob of blobs) this.#use(blob)
    this.counters = { pid: this.counters.pid, cursor }
    this.advance(draft, fact, code)
  }

  #use(blob: Blob): void {
    const name = blob.hash.toString('hex')
    const known = this.blobs.get(name)
    if (known) known.uses += 1
    else this.blobs.set(name, { ...blob, uses: 1 })
  }

  /** The head that this plan moves: a copy. */
  draft(uuid: Uuid): Draft {
    const planned = this.drafts.get(uuid)
    if (planned !== undefined) return planned
    const head = this.#heads.get(uuid)
    const draft = head === undefined ? this.#newDraft(uuid) : { ...head, moved: false, settle: false, checked: false }
    this.drafts.set(uuid, draft)
    return draft
  }

  #newDraft(uuid: Uuid): Draft {
    this.newKeys += 1
    const key = this.#lastKey + this.newKeys
    return {
      key, uuid, forkedFrom: null, origin: null, base: 0, seq: 0, open: '', lastCursor: 0, specSeq: 0, specCursor: 0,
      stored: null, late: null, moved: false, settle: true, checked: false,
    }
  }

  /** A fork begins behind the fact of its origin that it names; the origin may stand before it in the same commit. */
  #forkDraft(fact: StoredFact, { uuid, seq }: Origin): Draft {
    if (this.drafts.has(fact.uuid) || this.#heads.get(fact.uuid)) throw broken('A process that is there cannot be forked into.', fact)
    const origin = this.drafts.get(uuid) ?? this.#heads.get(uuid)
    if (origin === undefined || origin.seq === 0) throw new KernelError('COLLECTED', `The process ${uuid} was removed: it cannot be forked.`, { uuid })
    if (!Number.isSafeInteger(seq) || seq < 1 || seq > origin.seq) throw broken(`A fork cannot begin behind fact ${seq} of ${uuid}, which has ${origin.seq}.`, fact)
    const draft: Draft = { ...this.#newDraft(fact.uuid), forkedFrom: uuid, origin: this.#ownerOf(origin, seq), base: seq, seq }
    this.drafts.set(fact.uuid, draft)
    return draft
  }

  /** The key of who has a fact of a journal: the process itself, or the one of its origins that wrote it. */
  #ownerOf(head: Head, seq: number): number {
    let { key, uuid, base, origin } = head
    while (seq <= base && origin !== null) {
      const above = [...this.drafts.values()].find((draft) => draft.key === origin) ?? this.#lines.link(origin, { uuid, base })
      ;({ key, uuid, base } = above)
      origin = typeof above.origin === 'object' ? (above.origin?.key ?? null) : above.origin
    }
    return key
  }

  /** Moves a head over one fact. A block that becomes full goes to disk, and the row with it: the two always fit. */
  advance(draft: Draft, { cursor, body }: StoredFact, code: number): void {
    draft.moved = true
    draft.seq += 1
    draft.open = addEntry(draft.open, cursor, draft.lastCursor, code)
    draft.lastCursor = cursor
    if (!mayLag(body.type)) draft.settle = true
    if (body.type === 'process.spawned' || body.type === 'process.forked' || body.type === 'process.limited' || (body.type === 'process.resumed' && body.spec !== undefined)) {
      draft.specSeq = draft.seq
      draft.specCursor = cursor
    }
    if ((draft.seq - draft.base) % BLOCK_FACTS !== 0) return
    this.blocks.push([draft.key, blockOf(draft.seq, draft), firstCursor(draft.open), draft.open])
    draft.open = ''
    draft.settle = true
  }
}

function mayLag(type: FactType): boolean {
  return STEP_FACTS.has(type) || OF_FAMILIES.test(type)
}

function checkProcess(process: Process, head: Head): void {
  if (process.seq !== head.seq || head.seq === 0) throw broken(`The row stands at fact ${process.seq}, the journal at ${head.seq}.`, process)
  if ((process.originSeq ?? 0) !== head.base || process.originUuid !== head.forkedFrom) throw broken(`The row names another origin than the journal.`, process)
  if (process.specSeq !== head.specSeq) throw broken(`The spec is said to stand at fact ${process.specSeq}; it stands at ${head.specSeq}.`, process)
  if (process.life.state === 'dead' && process.clock.exitedAt === null) throw broken('A dead process has no time of death.', process)
}

export function broken(what: string, { uuid, seq }: { uuid: Uuid; seq: number }): KernelError {
  return new KernelError('INTERNAL', `${what} (process ${uuid}, fact ${seq})`, { uuid, seq })
}
