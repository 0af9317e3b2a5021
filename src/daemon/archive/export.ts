// Export: a process's whole history as a portable directory steps/UUID. events.jsonl is the truth, and enough to bring the
// process back; the other files say the same for people and programs. Read in pages, so that no journal is too long.
// Must never change the process, and never write over anything. The caller keeps it from being removed meanwhile.
// Tests: test/e2e/archive.test.ts, test/processes/archive-killed.test.ts.
import { join } from 'node:path'
import { KernelError } from '../../kernel/errors.ts'
import { ALONE, processView } from '../views.ts'
import { VERSION } from '../version.ts'
import { lineOf } from './event-lines.ts'
import { makeFolder, type Writing } from './folder.ts'
import { metaOf } from './meta.ts'
import { Profile, StepLines, tellingOf, Waiting } from './tellings.ts'
import type { ExportedView } from '../../api/history-views.ts'
import type { McpState, Fact, FactBody } from '../../kernel/facts.ts'
import type { Process, Range, Uuid } from '../../kernel/types.ts'
import type { Store } from '../../store/store.ts'

/** Facts per page: one may have long texts and pictures. */
const PAGE_FACTS = 32

export interface ExportParts {
  readonly store: Pick<Store, 'facts' | 'tail' | 'process'>
  /** the process as it is now */
  readonly get: (uuid: Uuid) => Promise<Process>
}

/** Errors: `CONFLICT` if DIR/steps/UUID is there, `INVALID` for a directory that cannot be written, `DISK_FULL`. Then nothing is left of it. */
export async function exportProcess(parts: ExportParts, uuid: Uuid, dir: string, signal: AbortSignal): Promise<ExportedView> {
  const process = await parts.get(uuid)
  const target = join(dir, 'steps', uuid)
  const history = new History(parts, process, signal)
  let steps = 0
  const bytes = await makeFolder(target, async (file) => {
    steps = await writeHistory(history, file)
    await writeCheckpoint(history, file)
    await writeJson(file, 'process-meta.json', await metaOf(process, history.mcp))
    // The last one: it says how much there must be of the others.
    await writeJson(file, 'proc-info.json', infoOf(history))
  })
  return { version: 1, uuid, pid: process.pid, name: process.spec.name, dir: target, facts: process.seq, steps, bytes }
}

type CheckpointBody = Extract<FactBody, { type: 'checkpoint.written' }>

/** The facts of a process up to where it was when it was asked for. */
class History {
  readonly process: Process
  /** the MCP servers as they were told of last */
  mcp: readonly McpState[] = []
  checkpoint: { readonly seq: number; readonly at: number; readonly body: CheckpointBody } | null = null
  readonly #parts: ExportParts
  readonly #signal: AbortSignal

  constructor(parts: ExportParts, process: Process, signal: AbortSignal) {
    this.#parts = parts
    this.process = process
    this.#signal = signal
  }

  /** Errors: `STORE_DAMAGED` where one is missing. */
  async *facts([first, last]: Range = [1, this.process.seq]): AsyncGenerator<Fact> {
    for (let after = first - 1; after < last;) {
      if (this.#signal.aborted) throw new KernelError('UNAVAILABLE', 'whoever asked for it is gone')
      const page = await this.#parts.store.facts(this.process.uuid, after, Math.min(PAGE_FACTS, last - after))
      if (page.length === 0) throw new KernelError('STORE_DAMAGED', `fact ${after + 1} of ${this.process.uuid} is missing`)
      yield* page
      after += page.length
    }
  }

  async textAt(seq: number): Promise<string> {
    const [fact] = await this.#parts.store.facts(this.process.uuid, seq - 1, 1)
    return fact?.body.type === 'process.queue' ? fact.body.text : ''
  }

  see({ seq, at, body }: Fact): void {
    if (body.type === 'mcp.servers') this.mcp = body.servers
    if (body.type === 'checkpoint.written') this.checkpoint = { seq, at, body }
  }
}

type File = (name: string) => Promise<Writing>

/** One pass over all facts for three files. Gives the number of steps. */
async function writeHistory(history: History, file: File): Promise<number> {
  const [events, steps, heat] = [await file('events.jsonl'), await file('steps.jsonl'), await file('ctx-profile.json')]
  const [waiting, lines, profile] = [new Waiting(), new StepLines(), new Profile()]
  const { context, usage } = history.process
  let count = 0
  const tell = async (step: object | null, profiled: object | null): Promise<void> => {
    if (step) await steps.line(JSON.stringify(step))
    if (profiled) await heat.text(`${count++ === 0 ? '' : ','}\n  ${JSON.stringify(profiled)}`)
  }
  try {
    await heat.text(`{ "version": 1, "contextWindow": ${context?.window ?? null}, "contextTokens": ${usage.contextTokens}, "steps": [`)
    for await (const fact of history.facts()) {
      history.see(fact)
      await events.line(lineOf(fact))
      const telling = await tellingOf(fact, waiting, (seq) => history.textAt(seq))
      await tell(lines.see(fact, telling), profile.see(fact, telling))
    }
    await tell(lines.end(), profile.end())
    await heat.text(`\n], "estimated": ${JSON.stringify(profile.total)} }\n`)
  } finally {
    await closeAll([events, steps, heat])
  }
  return count
}

/** The newest checkpoint with the bodies that it only names, message by message. */
async function writeCheckpoint(history: History, file: File): Promise<void> {
  if (history.checkpoint === null) return
  const { seq, at, body: { type: _, ...body } } = history.checkpoint
  const out = await file('checkpoint.json')
  try {
    const head = JSON.stringify({ version: 1, uuid: history.process.uuid, seq, at: new Date(at).toISOString(), ...body }).slice(0, -1)
    await out.text(`${head}, "messages": [`)
    const waiting = new Waiting()
    let isFirst = true
    for (const [first, last] of body.ranges) {
      for await (const fact of history.facts([first, Math.min(last, seq)])) {
        const telling = await tellingOf(fact, waiting, (queued) => history.textAt(queued))
        if (telling === null) continue
        await out.text(`${isFirst ? '' : ','}\n  ${JSON.stringify(telling)}`)
        isFirst = false
      }
    }
    await out.text('\n] }\n')
  } finally {
    await out.close()
  }
}

async function writeJson(file: File, name: string, value: object): Promise<void> {
  const out = await file(name)
  try {
    await out.text(`${JSON.stringify(value, null, 2)}\n`)
  } finally {
    await out.close()
  }
}

async function closeAll(files: readonly Writing[]): Promise<void> {
  const ends = await Promise.allSettled(files.map((file) => file.close()))
  for (const end of ends) if (end.status === 'rejected') throw end.reason
}

/** Who it is. Its place in a tree is not told: that is the daemon's, and not its own. */
function infoOf({ process, checkpoint }: History): object {
  const { uuid, pid, seq, originUuid, originStep, originSeq, clock, life } = process
  return {
    version: 1, reeve: VERSION, uuid, pid, facts: seq,
    origin: originUuid === null ? null : { uuid: originUuid, step: originStep, seq: originSeq },
    dead_at: life.state === 'dead' && clock.exitedAt !== null ? new Date(clock.exitedAt).toISOString() : null,
    checkpoint: checkpoint && { seq: checkpoint.seq, step: checkpoint.body.step },
    process: inUtc(processView(process, ALONE, clock.since ?? 0)),
  }
}

/** Times without the offset of the place where it was written. */
function inUtc(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(inUtc)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, isTime(key, item) ? new Date(item).toISOString() : inUtc(item)]))
}

function isTime(key: string, value: unknown): value is string {
  return typeof value === 'string' && /(^at|At)$/.test(key) && !Number.isNaN(Date.parse(value))
}
