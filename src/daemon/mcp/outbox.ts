// Reports that `reeve mcp` had on disk when the daemon before this one died: told now, once, in the turn in which they were made.
// What cannot be told is logged and put away; nothing of it is told again. Test: test/e2e/mcp-bridge.test.ts.
import { readdir, readFile, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import { callFor } from './own-tools.ts'
import type { OutboxRecord } from '../../api/mcp-views.ts'
import type { Process } from '../../kernel/types.ts'
import type { OwnToolEnd } from '../../drivers/port.ts'
import type { Store } from '../../store/store.ts'
import type { Host } from './tool.ts'

const MAX_RECORD_BYTES = 4 * 1024 * 1024
const MAX_RECORDS = 10_000
/** Facts that say in which turn a process is. */
const TURNS = ['process.working', 'process.exited']
const PAGE = 32
const AGAIN_MS = 500
const MAX_TRIES = 120

const record: z.ZodType<OutboxRecord> = z.object({
  version: z.literal(1), id: z.string().regex(/^[\w-]{8,64}$/), uuid: z.string().max(64), pid: z.int().min(1), name: z.string().max(64), input: z.unknown(), at: z.number(),
})

interface OutboxParts {
  readonly dir: string
  readonly host: Host
  readonly store: Pick<Store, 'tail'>
  readonly log: (message: string, error: unknown) => void
  /** aborted when the daemon ends */
  readonly signal: AbortSignal
}

/** In the order in which they were made. Never rejects. */
export async function deliverOutbox(parts: OutboxParts): Promise<void> {
  try {
    const records = await recordsIn(parts)
    for (const one of records.toSorted((a, b) => a.at - b.at)) await deliver(parts, one)
  } catch (error) {
    parts.log('reports that were left cannot be read', error)
  }
}

async function recordsIn({ dir, log }: OutboxParts): Promise<OutboxRecord[]> {
  const names = await readdir(dir).catch(() => [])
  // What was never whole was never promised either.
  await Promise.all(names.filter((name) => name.endsWith('.new')).map((name) => rm(join(dir, name), { force: true })))
  const found = await Promise.all(names.filter((name) => name.endsWith('.json')).slice(0, MAX_RECORDS).map(async (name) => {
    const path = join(dir, name)
    try {
      if ((await stat(path)).size > MAX_RECORD_BYTES) throw new Error('it is too large')
      const read = record.parse(JSON.parse(await readFile(path, 'utf8')))
      if (`${read.id}.json` !== name) throw new Error('it has the name of another one')
      return read
    } catch (error) {
      log(`${path} is no report: ${error instanceof Error ? error.message : String(error)}`, null)
      await rm(path, { force: true })
      return null
    }
  }))
  return found.filter((one) => one !== null)
}

async function deliver({ dir, host, store, log, signal }: OutboxParts, { id, uuid, pid, name, input, at }: OutboxRecord): Promise<void> {
  const caller = await host.reads.find(uuid)
  const turn = caller ? await turnAt(store, caller, pid, at) : null
  const tell = (): Promise<OwnToolEnd> => (caller && turn !== null ? callFor(host, caller, { name, input, id, turn, signal, progress: () => undefined }) : Promise.resolve({ isError: true, text: `no process ${uuid} has a turn of that time` }))
  let said = await tell()
  // Its crew is not up yet; what is not told in this time waits for the next start.
  for (let tries = 0; said.text.startsWith('UNAVAILABLE:') && tries < MAX_TRIES && !signal.aborted; tries += 1) {
    await sleep(AGAIN_MS, undefined, { signal }).catch(() => undefined)
    said = await tell()
  }
  if (said.text.startsWith('UNAVAILABLE:')) return
  log(`a report of ${uuid} from before the last end of the daemon, ${name}: ${said.text}`, null)
  await rm(join(dir, `${id}.json`), { force: true })
}

/** The last one that had begun by then, of that incarnation; null also where that did not end with its daemon: such a one was answered. */
async function turnAt(store: Pick<Store, 'tail'>, { uuid }: Process, pid: number, at: number): Promise<number | null> {
  for (let before = Number.MAX_SAFE_INTEGER; before > 1;) {
    const page = await store.tail(uuid, PAGE, TURNS, before)
    const its = page.filter((fact) => fact.pid === pid)
    if (its.some(({ body }) => body.type === 'process.exited' && body.exit.cause !== 'daemon')) return null
    const found = its.findLast(({ at: when, body }) => when <= at && body.type === 'process.working')
    if (found?.body.type === 'process.working') return found.body.turn
    if (page.length < PAGE) return null
    before = page[0]?.seq ?? 0
  }
  return null
}
