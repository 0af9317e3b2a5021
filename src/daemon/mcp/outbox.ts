// Delivers the reports that `reeve mcp` has stored, and that the last daemon did not confirm before it ended. Each counts for the turn in
// which it was made. A delivered report is logged and removed, even if the crew refuses it. While the crew is unavailable, the report
// stays. Tests: test/tables/daemon/mcp/outbox.test.ts, test/e2e/mcp/outbox.test.ts.
import { readdir, readFile, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import { callToolForProcess } from './tool-calls.ts'
import type { OutboxRecord } from '../../api/views/mcp.ts'
import type { Process } from '../../kernel/model/process.ts'
import type { OwnToolResult } from '../../drivers/port.ts'
import type { Store } from '../../store/store.ts'
import type { ToolHost } from './tool.ts'
import { errorText } from '../../kernel/util/error-text.ts'
import { ifMissing } from '../../kernel/util/missing-file.ts'

const MAX_RECORD_BYTES = 4 * 1024 * 1024
const MAX_RECORDS = 10_000
/** The facts that show in which turn an incarnation was. */
const TURN_FACTS = ['process.working', 'process.exited']
const PAGE_FACTS = 32
/** The pause before a report to an unavailable crew is tried again, and the largest number of such tries: together a minute. */
const RETRY_MS = 500
const MAX_TRIES = 120

export const outboxRecord = z
  .object({
    version: z.literal(1),
    id: z
      .string()
      .regex(/^[\w-]{8,64}$/)
      .describe('the id of the call, which is the same for each delivery attempt'),
    uuid: z.string().max(64).describe('the UUID of its sender'),
    pid: z.int().min(1),
    name: z.string().max(64),
    input: z.unknown(),
    at: z.number().describe('the time of the report in wall ms, which identifies its turn'),
  })
  .describe('An unacknowledged report, as a JSON file in the outbox.')

interface OutboxDeps {
  readonly dir: string
  readonly host: ToolHost
  readonly store: Pick<Store, 'tail'>
  readonly log: (message: string, error: unknown) => void
  /** aborted when the daemon ends */
  readonly signal: AbortSignal
}

/** Delivers all reports, in the order in which they were made. Never rejects. */
export async function deliverOutbox(deps: OutboxDeps): Promise<void> {
  try {
    const records = await readRecords(deps)
    for (const record of records.toSorted((a, b) => a.at - b.at)) await deliver(deps, record)
  } catch (error) {
    deps.log('undelivered reports cannot be read', error)
  }
}

/** Reads the valid reports of the outbox; removes the others. */
async function readRecords({ dir, log }: OutboxDeps): Promise<OutboxRecord[]> {
  const names = await readdir(dir).catch(ifMissing<string[]>([]))
  // An incomplete file was never acknowledged.
  await Promise.all(names.filter((name) => name.endsWith('.new')).map((name) => rm(join(dir, name), { force: true })))
  const found = await Promise.all(
    names
      .filter((name) => name.endsWith('.json'))
      .slice(0, MAX_RECORDS)
      .map(async (name) => {
        const path = join(dir, name)
        try {
          if ((await stat(path)).size > MAX_RECORD_BYTES) throw new Error('it is too large')
          const record = outboxRecord.parse(JSON.parse(await readFile(path, 'utf8')))
          if (`${record.id}.json` !== name) throw new Error('its file name does not match its id')
          return record
        } catch (error) {
          log(`${path} is not a valid report: ${errorText(error)}`, null)
          await rm(path, { force: true })
          return null
        }
      }),
  )
  return found.filter((record) => record !== null)
}

/** Delivers one report, and removes its file. A report to a crew that stays unavailable is kept for the next start. */
async function deliver({ dir, host, store, log, signal }: OutboxDeps, { id, uuid, pid, name, input, at }: OutboxRecord): Promise<void> {
  const caller = await host.reads.find(uuid)
  const turn = caller ? await turnAt(store, caller, pid, at) : null
  const attempt = (): Promise<OwnToolResult> =>
    caller && turn !== null
      ? callToolForProcess(host, caller, { name, input, id, turn, signal, progress: () => undefined })
      : Promise.resolve({ isError: true, text: `no process ${uuid} had a turn at that time` })
  let result = await attempt()
  // The crew may still be starting.
  for (let tries = 0; result.text.startsWith('UNAVAILABLE:') && tries < MAX_TRIES && !signal.aborted; tries += 1) {
    // An abort rejects the sleep; the loop then ends by its condition.
    await sleep(RETRY_MS, undefined, { signal }).catch(() => undefined)
    result = await attempt()
  }
  if (result.text.startsWith('UNAVAILABLE:')) return
  log(`the report ${name} of ${uuid}, from before the last daemon ended: ${result.text}`, null)
  await rm(join(dir, `${id}.json`), { force: true })
}

/**
 * Finds the turn of an incarnation at a time (wall ms): the last turn that had started by then. Null if there is none. Null also if
 * the incarnation did not end with its daemon, because that daemon has answered its calls.
 */
async function turnAt(store: Pick<Store, 'tail'>, { uuid }: Process, pid: number, at: number): Promise<number | null> {
  for (let before = Number.MAX_SAFE_INTEGER; before > 1;) {
    const page = await store.tail(uuid, PAGE_FACTS, TURN_FACTS, before)
    const facts = page.filter((fact) => fact.pid === pid)
    if (facts.some(({ body }) => body.type === 'process.exited' && body.exit.cause !== 'daemon')) return null
    const found = facts.findLast(({ at: when, body }) => when <= at && body.type === 'process.working')
    if (found?.body.type === 'process.working') return found.body.turn
    if (page.length < PAGE_FACTS) return null
    before = page[0]?.seq ?? 0
  }
  return null
}
