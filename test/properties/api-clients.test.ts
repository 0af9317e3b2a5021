// Eight API clients at once pause, resume, stop, kill, fork and remove the same processes. Each journal gives the order of events;
// a simple model replays it and checks every response. Prints its seed.
import { expect, test } from 'vitest'
import { ApiError, Client } from '../../src/api/client/client.ts'
import type { EventView } from '../../src/api/views/daemon.ts'
import type { ProcessView, SteerView } from '../../src/api/views/process.ts'
import { deep } from '../support/deep.ts'
import { seeded } from '../support/kernel/random.ts'
import { LocalDaemon } from '../support/daemon/local-daemon.ts'
import { SEED } from '../support/seed.ts'

const CLIENTS = 8
const STROKES = deep(30, 300)
const MAX_PROCESSES = 24
/** More pauses than ends, so that processes remain in every state. */
const STROKE_KINDS = [
  ...Array<string>(8).fill('pause'),
  ...Array<string>(8).fill('resume'),
  'send',
  'send',
  'send',
  'send',
  'SIGTERM',
  'SIGKILL',
  'fork',
  'fork',
  'rm',
  'rm',
  'rm',
]
/** Valid refusals, as another client was faster. */
const FAIR = new Set(['NOT_FOUND', 'COLLECTED', 'CONFLICT', 'INVALID', 'NOT_RESUMABLE'])

interface ClientAnswer {
  readonly via: string
  readonly uuid: string
  readonly what: string
  readonly answer: SteerView | null
}

/** Replays one journal in the model, in order. */
class Life {
  readonly holds = new Set<string>()
  readonly sent: string[] = []
  readonly pids: number[] = []
  state = 'none'
  cause = ''

  see(event: EventView): void {
    const fact = String(event['fact'])
    if (event.pid !== this.pids.at(-1)) this.pids.push(event.pid)
    switch (fact) {
      case 'process.spawned':
      case 'process.forked':
      case 'process.resumed':
        return this.#born()
      case 'process.held':
        return void this.holds.add(holdText(event['hold'] as Hold))
      case 'process.released': {
        for (const hold of event['holds'] as Hold[]) this.holds.delete(holdText(hold))
        return
      }
      case 'process.working':
        return expect([this.state, this.holds.size, fact]).toEqual(['lives', 0, fact])
      case 'signal.sent':
        return void this.sent.push(`${String(event['via']).split(' ')[0]} ${String(event['signal'])}`)
      case 'process.exited': {
        expect(this.state).toBe('lives')
        this.state = 'ended'
        this.cause = (event['exit'] as { cause: string }).cause
        this.holds.clear()
        return
      }
      default:
    }
  }

  #born(): void {
    expect(['none', 'ended']).toContain(this.state)
    this.state = 'lives'
    this.holds.clear()
  }
}

interface Hold {
  readonly reason: string
  readonly by: string
  readonly root?: string
}
const holdText = ({ reason, by, root }: Hold): string => `${reason} ${by} ${root ?? ''}`

test(`eight clients at the same processes leave a possible result of sequential requests (seed ${SEED})`, async () => {
  await using daemon = await LocalDaemon.start()
  const model = await daemon.writeScript(Array.from({ length: 40 }, () => ({ text: 'yes' })))
  const uuids = await Promise.all(
    Array.from({ length: 6 }, async () => (await daemon.spawn({ model, interactive: true, intent: 'begin' })).uuid),
  )
  const answers: ClientAnswer[] = []
  await Promise.all(Array.from({ length: CLIENTS }, (_, number) => sendRequests(daemon, number, { uuids, answers })))
  const pids: number[] = []
  for (const uuid of uuids) pids.push(...(await checkJournal(daemon, uuid, answers)))
  expect(new Set(pids).size).toBe(pids.length)
  expect(answers.map(({ what }) => what)).toEqual(expect.arrayContaining(['pause', 'resume', 'send', 'fork']))
  expect(daemon.errors).toEqual([])
}, 300_000)

async function sendRequests(
  daemon: LocalDaemon,
  number: number,
  { uuids, answers }: { readonly uuids: string[]; readonly answers: ClientAnswer[] },
): Promise<void> {
  const pick = seeded(SEED + number)
  const via = `client-${number}`
  const client = new Client({ socketPath: () => daemon.paths.socket, name: via })
  for (let stroke = 0; stroke < STROKES; stroke += 1) {
    const uuid = uuids[pick(uuids.length)] ?? ''
    const what = STROKE_KINDS[pick(STROKE_KINDS.length)] ?? 'pause'
    try {
      const answer = await act(client, uuid, what)
      answers.push({ via, uuid, what, answer: 'affected' in answer ? answer : null })
      if (what === 'fork' && uuids.length < MAX_PROCESSES && 'affected' in answer) uuids.push(answer.process.uuid)
    } catch (error) {
      if (!(error instanceof ApiError) || !FAIR.has(error.code)) throw error
    }
  }
}

function act(client: Client, uuid: string, what: string): Promise<SteerView | object> {
  const path = `/v1/processes/${uuid}`
  switch (what) {
    case 'pause':
      return client.post(`${path}/pause`, {})
    case 'resume':
      return client.post(`${path}/resume`, { message: 'go on' })
    case 'send':
      return client.post(`${path}/send`, { text: 'hello' })
    case 'fork':
      return client.post(`${path}/resume`, { fork: true })
    case 'rm':
      return client.delete(path)
    default:
      return client.post(`${path}/signal`, { signal: what, graceMs: 50 })
  }
}

/** Compares a journal with the answers and with the view; returns the process's PIDs. */
async function checkJournal(daemon: LocalDaemon, uuid: string, answers: readonly ClientAnswer[]): Promise<number[]> {
  const own = answers.filter((answer) => answer.uuid === uuid)
  const view = await daemon.view(uuid).catch((error: unknown) => {
    if (error instanceof ApiError && error.code === 'COLLECTED') return null
    throw error
  })
  expect(own.some(({ what }) => what === 'rm')).toBe(view === null)
  if (view === null) return []
  const settled: ProcessView = view.status === 'stopping' || view.status === 'zombie' ? await daemon.waitForEnd(uuid) : view
  const life = new Life()
  for (const event of await daemon.readHistory(uuid)) life.see(event)
  expect([settled.status === 'suspended', settled.exit === null]).toEqual([
    life.state === 'lives' && life.holds.size > 0,
    life.state === 'lives',
  ])
  if (life.state === 'ended') expect([life.cause, settled.status]).toEqual(['person', 'stopped'])
  // Each acknowledged signal is one fact.
  const names: Readonly<Record<string, string>> = { pause: 'SIGPAUSE', SIGTERM: 'SIGTERM', SIGKILL: 'SIGKILL' }
  const acknowledged = own.flatMap(({ via, what }) => (names[what] === undefined ? [] : [`${via} ${names[what]}`]))
  expect(life.sent.toSorted()).toEqual(acknowledged.toSorted())
  return life.pids
}
