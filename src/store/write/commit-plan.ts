// Plans a commit, for any engine: checks and encodes it before anything is written, so that a failed plan has changed nothing. Gives the
// facts their cursors. Checks that facts follow without a gap, each process with facts has a row, and no PID is above its counter.
// Test: test/tables/store/write/refusals.test.ts.
import { KernelError } from '../../kernel/model/errors.ts'
import type { Fact, FactType, ForkOrigin, StoredFact } from '../../kernel/model/facts.ts'
import type { Process } from '../../kernel/model/process.ts'
import { encodeBody } from '../journal/blobs.ts'
import type { Blob } from '../journal/blobs.ts'
import { packBody } from '../journal/fact-codec.ts'
import type { ProcessHead } from './head-cache.ts'
import type { LineageLink } from '../journal/lineage.ts'
import { packMoment } from '../journal/moment-codec.ts'
import type { FactRow } from '../rows/row-types.ts'
import type { Commit, Counters } from '../store.ts'
import type { Uuid } from '../../kernel/model/ids.ts'

/** Facts of steps, which are frequent. They change no indexed column, so the process's row may be written later. */
const FACTS_WITH_DELAYED_ROW: ReadonlySet<FactType> = new Set<FactType>([
  'model.started',
  'model.finished',
  'model.failed',
  'tool.started',
  'tool.finished',
  'process.output',
  'process.raw',
])
/**
 * Facts of crews and compose runs, whose rows may be written later too. Such a row contains all tasks or nodes, so that a small fact
 * would write half a megabyte.
 */
const CREW_AND_COMPOSE_FACTS = /^(?:crew|task|compose)\./

/**
 * The number of facts after which all rows that are out of date are written. This limits the facts to fold after a crash (some 50 ms).
 * A commit of 50 agents has 100 facts: with a limit of 256, every third commit would write 50 rows too.
 */
export const MAX_PENDING_FACTS = 2_048
/** The head of a process as this commit changes it. */
export type Draft = { -readonly [K in keyof ProcessHead]: ProcessHead[K] } & {
  /** whether the commit has facts of the process */
  hasFacts: boolean
  /** whether the row of the process must be written in this commit */
  mustWriteRow: boolean
  /** whether the commit contains the process, and the process was checked */
  hasProcess: boolean
}

/** A long text and the number of references to it in this plan. */
export interface UsedBlob extends Blob {
  uses: number
}

export interface CommitPlan {
  readonly counters: Counters
  readonly drafts: ReadonlyMap<Uuid, Draft>
  readonly facts: readonly Omit<FactRow, 'sum'>[]
  /** the same facts, with their cursors */
  readonly storedFacts: readonly StoredFact[]
  readonly blobs: ReadonlyMap<string, UsedBlob>
  readonly newKeys: number
}

/** Finds the head of a process as of the last commit. */
interface Heads {
  get(uuid: Uuid): ProcessHead | undefined
}

/** Finds the links of origins. */
interface Links {
  linkOf(key: number, fork: Pick<LineageLink, 'uuid' | 'base'>): LineageLink
}

export class Planner implements CommitPlan {
  readonly drafts = new Map<Uuid, Draft>()
  readonly facts: Omit<FactRow, 'sum'>[] = []
  readonly storedFacts: StoredFact[] = []
  readonly blobs = new Map<string, UsedBlob>()
  counters: Counters
  newKeys = 0
  readonly #heads: Heads
  readonly #lineage: Links
  readonly #lastKey: number

  constructor(heads: Heads, lineage: Links, counters: Counters, lastKey: number) {
    this.#heads = heads
    this.#lineage = lineage
    this.#lastKey = lastKey
    this.counters = counters
  }

  /**
   * Checks and encodes a whole commit. Errors: `INTERNAL` for an inconsistent commit, `INVALID` for a text that is too long, `COLLECTED`
   * for a fork of a removed process.
   */
  add(commit: Commit): CommitPlan {
    const pid = Math.max(commit.lastPid, this.counters.pid)
    for (const fact of commit.facts) this.#addFact({ ...fact, cursor: this.counters.cursor + 1 })
    for (const process of commit.processes) {
      const draft = this.draft(process.uuid)
      checkProcess(process, draft)
      if (process.pid > pid) throw planError(`PID ${process.pid} is above its counter.`, process)
      if (draft.hasProcess) throw planError('A process occurs twice in one commit.', process)
      draft.hasProcess = true
    }
    for (const draft of this.drafts.values()) {
      if (!draft.hasProcess) throw planError('A process has facts in a commit, but no row.', draft)
    }
    this.counters = { ...this.counters, pid }
    return this
  }

  #addFact(fact: StoredFact): void {
    const draft = fact.body.type === 'process.forked' ? this.#forkDraft(fact, fact.body.origin) : this.draft(fact.uuid)
    const { cursor, seq, pid, at } = fact
    if (seq !== draft.seq + 1) throw planError(`Fact ${seq} cannot follow ${draft.seq}.`, fact)
    if (!Number.isSafeInteger(at) || !Number.isSafeInteger(pid)) throw planError('The time or PID of a fact is not a whole number.', fact)
    const { code, values } = packBody(fact.body)
    const { body, refs, blobs } = encodeBody(values)
    this.facts.push({
      cursor,
      process: draft.key,
      seq,
      pid,
      at,
      type: code,
      body,
      refs,
      moment: fact.moment ? packMoment(fact.moment) : null,
    })
    for (const blob of blobs) countUse(this.blobs, blob)
    this.storedFacts.push(fact)
    this.counters = { pid: this.counters.pid, cursor }
    this.advance(draft, fact, code)
  }

  /** Returns the draft of a process: a copy of its head that this plan changes. */
  draft(uuid: Uuid): Draft {
    const planned = this.drafts.get(uuid)
    if (planned !== undefined) return planned
    const head = this.#heads.get(uuid)
    const draft = head === undefined ? this.#newDraft(uuid) : { ...head, hasFacts: false, mustWriteRow: false, hasProcess: false }
    this.drafts.set(uuid, draft)
    return draft
  }

  #newDraft(uuid: Uuid): Draft {
    this.newKeys += 1
    const key = this.#lastKey + this.newKeys
    return {
      key,
      uuid,
      forkedFrom: null,
      origin: null,
      base: 0,
      seq: 0,
      open: '',
      lastCursor: 0,
      specSeq: 0,
      specCursor: 0,
      storedRow: null,
      pendingProcess: null,
      hasFacts: false,
      mustWriteRow: true,
      hasProcess: false,
    }
  }

  /** Creates the draft of a new fork, which starts after the given fact of its origin. The origin may be earlier in the same commit. */
  #forkDraft(fact: Fact, { uuid, seq }: ForkOrigin): Draft {
    if (this.drafts.has(fact.uuid) || this.#heads.get(fact.uuid)) throw planError('A fork needs a new process.', fact)
    const origin = this.drafts.get(uuid) ?? this.#heads.get(uuid)
    if (origin === undefined || origin.seq === 0)
      throw new KernelError('COLLECTED', `The process ${uuid} was removed: it cannot be forked.`, { uuid })
    if (!Number.isSafeInteger(seq) || seq < 1 || seq > origin.seq)
      throw planError(`A fork cannot start after fact ${seq} of ${uuid}, which has ${origin.seq}.`, fact)
    const draft: Draft = { ...this.#newDraft(fact.uuid), forkedFrom: uuid, origin: this.#ownerOf(origin, seq), base: seq, seq }
    this.drafts.set(fact.uuid, draft)
    return draft
  }

  /** Returns the key of the process that wrote a fact of a journal: the process itself, or one of its origins. */
  #ownerOf(head: ProcessHead, seq: number): number {
    let { key, uuid, base, origin } = head
    while (seq <= base && origin !== null) {
      const parent = [...this.drafts.values()].find((draft) => draft.key === origin) ?? this.#lineage.linkOf(origin, { uuid, base })
      ;({ key, uuid, base } = parent)
      origin = typeof parent.origin === 'object' ? (parent.origin?.key ?? null) : parent.origin
    }
    return key
  }

  /** Advances a draft by one fact. An engine that indexes facts in the row adds its index here. */
  advance(draft: Draft, { cursor, body }: StoredFact, _code: number): void {
    draft.hasFacts = true
    draft.seq += 1
    draft.lastCursor = cursor
    if (!mayDelayRow(body.type)) draft.mustWriteRow = true
    if ('spec' in body && body.spec !== undefined) {
      draft.specSeq = draft.seq
      draft.specCursor = cursor
    }
  }
}

/** Counts a reference to a long text. */
export function countUse(blobs: Map<string, UsedBlob>, blob: Blob): void {
  const name = blob.hash.toString('hex')
  const known = blobs.get(name)
  if (known) known.uses += 1
  else blobs.set(name, { ...blob, uses: 1 })
}

/** Whether the row may be written after the commit of such a fact. */
function mayDelayRow(type: FactType): boolean {
  return FACTS_WITH_DELAYED_ROW.has(type) || CREW_AND_COMPOSE_FACTS.test(type)
}

function checkProcess(process: Process, head: ProcessHead): void {
  if (process.seq !== head.seq || head.seq === 0) throw planError(`The row is at fact ${process.seq}, the journal at ${head.seq}.`, process)
  if ((process.originSeq ?? 0) !== head.base || process.originUuid !== head.forkedFrom)
    throw planError(`The row names another origin than the journal.`, process)
  if (process.specSeq !== head.specSeq)
    throw planError(`The row has the spec at fact ${process.specSeq}, the journal at ${head.specSeq}.`, process)
  if (process.life.state === 'dead' && process.clock.exitedAt === null) throw planError('A dead process has no exit time.', process)
}

export function planError(problem: string, { uuid, seq }: { uuid: Uuid; seq: number }): KernelError {
  return new KernelError('INTERNAL', `${problem} (process ${uuid}, fact ${seq})`, { uuid, seq })
}
