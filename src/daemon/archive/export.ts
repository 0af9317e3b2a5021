// Exports the whole history of a process to a directory steps/UUID. An import reads all facts from events.jsonl, and their number from
// proc-info.json. The other files have the same facts in a form for users and programs. Reads the journal in pages, so that its length does
// not matter. Must never change the process or overwrite a file. The caller must prevent the removal of the process during the export.
// Tests: test/e2e/daemon/archive.test.ts, test/processes/daemon/archive-killed.test.ts.
import { join } from 'node:path'
import { KernelError } from '../../kernel/model/errors.ts'
import { NO_CONTEXT, processView } from '../views/process-view.ts'
import { VERSION } from '../../api/version.ts'
import { lineOf } from './event-lines.ts'
import { createDirectory, type FileWriter } from './atomic-directory.ts'
import { processMetaOf } from './process-meta.ts'
import { withUtcTimes } from './utc-times.ts'
import { ContextProfile, StepLines, exportedMessageOf, QueuedMessages } from './conversation.ts'
import type { ExportedView } from '../../api/views/archive.ts'
import type { McpState, Fact, FactBody } from '../../kernel/model/facts.ts'
import type { Process } from '../../kernel/model/process.ts'
import type { Store } from '../../store/store.ts'
import type { Uuid } from '../../kernel/model/ids.ts'
import type { Range } from '../../kernel/model/context.ts'

/** Facts per page; pages are small, because a fact may contain long texts and images. */
const PAGE_FACTS = 32

export interface ExportDeps {
  readonly store: Pick<Store, 'facts' | 'tail' | 'process'>
  /** returns the current state of a process */
  readonly get: (uuid: Uuid) => Promise<Process>
}

/**
 * Exports a process to `dir`/steps/UUID. After an error no files are left. Errors: `CONFLICT` if that path exists, `INVALID` for a
 * directory that cannot be written, `DISK_FULL`; `STORE_DAMAGED` if a fact is missing, `UNAVAILABLE` when the client has gone.
 */
export async function exportProcess(deps: ExportDeps, uuid: Uuid, dir: string, signal: AbortSignal): Promise<ExportedView> {
  const process = await deps.get(uuid)
  const target = join(dir, 'steps', uuid)
  const history = new History(deps, process, signal)
  let steps = 0
  const bytes = await createDirectory(target, async (createFile) => {
    steps = await writeHistory(history, createFile)
    await writeCheckpoint(history, createFile)
    await writeJson(createFile, 'process-meta.json', await processMetaOf(process, history.mcp))
    // Written after the history, because it names the last checkpoint that was read.
    await writeJson(createFile, 'proc-info.json', exportInfoOf(history))
  })
  return { version: 1, uuid, pid: process.pid, name: process.spec.name, dir: target, facts: process.seq, steps, bytes }
}

type CheckpointBody = Extract<FactBody, { type: 'checkpoint.written' }>

/** Reads the facts of a process up to its state at the request. Later facts are not exported. */
class History {
  readonly process: Process
  /** the MCP servers in the last fact about them that was read */
  mcp: readonly McpState[] = []
  /** the last checkpoint that was read */
  checkpoint: { readonly seq: number; readonly at: number; readonly body: CheckpointBody } | null = null
  readonly #deps: ExportDeps
  readonly #signal: AbortSignal

  constructor(deps: ExportDeps, process: Process, signal: AbortSignal) {
    this.#deps = deps
    this.process = process
    this.#signal = signal
  }

  /** Yields the facts of a range; default: all. Errors: `STORE_DAMAGED` if a fact is missing, `UNAVAILABLE` when the client has gone. */
  async *facts([first, last]: Range = [1, this.process.seq]): AsyncGenerator<Fact> {
    for (let after = first - 1; after < last;) {
      if (this.#signal.aborted) throw new KernelError('UNAVAILABLE', 'the client has gone')
      const page = await this.#deps.store.facts(this.process.uuid, after, Math.min(PAGE_FACTS, last - after))
      if (page.length === 0) throw new KernelError('STORE_DAMAGED', `fact ${after + 1} of ${this.process.uuid} is missing`)
      yield* page
      after += page.length
    }
  }

  /** Reads the text of a queued message. */
  async textAt(seq: number): Promise<string> {
    const [fact] = await this.#deps.store.facts(this.process.uuid, seq - 1, 1)
    return fact?.body.type === 'process.queue' ? fact.body.text : ''
  }

  /** Must be called with each fact, in order. */
  onFact({ seq, at, body }: Fact): void {
    if (body.type === 'mcp.servers') this.mcp = body.servers
    if (body.type === 'checkpoint.written') this.checkpoint = { seq, at, body }
  }
}

/** Creates a file of the export. */
type CreateFile = (name: string) => Promise<FileWriter>

/** Writes events.jsonl, steps.jsonl and ctx-profile.json in one pass over all facts. Returns the number of steps. */
async function writeHistory(history: History, createFile: CreateFile): Promise<number> {
  const [events, steps, profileFile] = [
    await createFile('events.jsonl'),
    await createFile('steps.jsonl'),
    await createFile('ctx-profile.json'),
  ]
  const [queuedMessages, stepLines, profile] = [new QueuedMessages(), new StepLines(), new ContextProfile()]
  const { context, usage } = history.process
  let count = 0
  const writeStep = async (step: object | null, profiledStep: object | null): Promise<void> => {
    if (step) await steps.writeLine(JSON.stringify(step))
    if (profiledStep) await profileFile.write(`${count++ === 0 ? '' : ','}\n  ${JSON.stringify(profiledStep)}`)
  }
  try {
    await profileFile.write(
      `{ "version": 1, "contextWindow": ${context?.window ?? null}, "contextTokens": ${usage.contextTokens}, "steps": [`,
    )
    for await (const fact of history.facts()) {
      history.onFact(fact)
      await events.writeLine(lineOf(fact))
      const message = await exportedMessageOf(fact, queuedMessages, (seq) => history.textAt(seq))
      await writeStep(stepLines.onFact(fact, message), profile.onFact(fact, message))
    }
    await writeStep(stepLines.end(), profile.end())
    await profileFile.write(`\n], "estimated": ${JSON.stringify(profile.total)} }\n`)
  } finally {
    await closeAll([events, steps, profileFile])
  }
  return count
}

/** Writes checkpoint.json: the newest checkpoint with the messages in its ranges. Writes nothing if there is no checkpoint. */
async function writeCheckpoint(history: History, createFile: CreateFile): Promise<void> {
  if (history.checkpoint === null) return
  const {
    seq,
    at,
    body: { type: _, ...body },
  } = history.checkpoint
  const out = await createFile('checkpoint.json')
  try {
    const head = JSON.stringify({ version: 1, uuid: history.process.uuid, seq, at: new Date(at).toISOString(), ...body }).slice(0, -1)
    await out.write(`${head}, "messages": [`)
    const queuedMessages = new QueuedMessages()
    let isFirst = true
    for (const [first, last] of body.ranges) {
      for await (const fact of history.facts([first, Math.min(last, seq)])) {
        const message = await exportedMessageOf(fact, queuedMessages, (queuedSeq) => history.textAt(queuedSeq))
        if (message === null) continue
        await out.write(`${isFirst ? '' : ','}\n  ${JSON.stringify(message)}`)
        isFirst = false
      }
    }
    await out.write('\n] }\n')
  } finally {
    await out.close()
  }
}

async function writeJson(createFile: CreateFile, name: string, value: object): Promise<void> {
  const out = await createFile(name)
  try {
    await out.write(`${JSON.stringify(value, null, 2)}\n`)
  } finally {
    await out.close()
  }
}

/** Closes all files, then throws the first error. */
async function closeAll(files: readonly FileWriter[]): Promise<void> {
  const ends = await Promise.allSettled(files.map((file) => file.close()))
  for (const end of ends) if (end.status === 'rejected') throw end.reason
}

/** The content of proc-info.json: the process without its parent and children, which exist only in this daemon. */
function exportInfoOf({ process, checkpoint }: History): object {
  const { uuid, pid, seq, originUuid, originStep, originSeq, clock, life } = process
  return {
    version: 1,
    reeve: VERSION,
    uuid,
    pid,
    facts: seq,
    origin: originUuid === null ? null : { uuid: originUuid, step: originStep, seq: originSeq },
    dead_at: life.state === 'dead' && clock.exitedAt !== null ? new Date(clock.exitedAt).toISOString() : null,
    checkpoint: checkpoint && { seq: checkpoint.seq, step: checkpoint.body.step },
    process: withUtcTimes(processView(process, NO_CONTEXT, clock.since ?? 0)),
  }
}
