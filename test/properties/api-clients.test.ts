// Eight API clients at once pause, resume, stop, kill, fork and remove the same processes. Each journal gives the order of events;
// a simple model replays it and checks every response. Prints its seed.
import { expect, test } from 'vitest'
import { ApiError } from '../../src/api/client/api-error.ts'
import { Client } from '../../src/api/client/client.ts'
import type { EventView } from '../../src/api/views/daemon.ts'
import type { ProcessView, SteerView } from '../../src/api/views/process.ts'
import { deep } from '../support/deep.ts'
import { makeSeededPick } from '../support/kernel/random-inputs.ts'
import { LocalDaemon } from '../support/daemon/local-daemon.ts'
import { SEED } from '../support/seed.ts'

const CLIENTS = 8
const REQUESTS_PER_CLIENT = deep(30, 300)
const MAX_PROCESSES = 24
/** More pauses than ends, so that processes remain in every state. */
const REQUEST_KINDS = [
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
/** The refusals that occur when another client was faster. */
const POSSIBLE_REFUSALS = new Set(['NOT_FOUND', 'COLLECTED', 'CONFLICT', 'INVALID', 'NOT_RESUMABLE'])

interface ClientAnswer {
  readonly via: string
  readonly uuid: string
  readonly request: string
  readonly answer: SteerView | null
}

/** The model of one process, to which the events of its journal are applied in order. */
class JournalModel {
  readonly holds = new Set<string>()
  readonly sent: string[] = []
  readonly pids: number[] = []
  state = 'none'
  cause = ''

  apply(event: EventView): void {
    const fact = String(event['fact'])
    if (event.pid !== this.pids.at(-1)) this.pids.push(event.pid)
    switch (fact) {
      case 'process.spawned':
      case 'process.forked':
      case 'process.resumed':
        return this.#begin()
      case 'process.held':
        return void this.holds.add(holdText(event['hold'] as Hold))
      case 'process.released': {
        for (const hold of event['holds'] as Hold[]) this.holds.delete(holdText(hold))
        return
      }
      case 'process.working':
        return expect([this.state, this.holds.size, fact]).toEqual(['alive', 0, fact])
      case 'signal.sent':
        return void this.sent.push(`${String(event['via']).split(' ')[0]} ${String(event['signal'])}`)
      case 'process.exited': {
        expect(this.state).toBe('alive')
        this.state = 'ended'
        this.cause = (event['exit'] as { cause: string }).cause
        this.holds.clear()
        return
      }
      default:
    }
  }

  #begin(): void {
    expect(['none', 'ended']).toContain(this.state)
    this.state = 'alive'
    this.holds.clear()
  }
}

interface Hold {
  readonly reason: string
  readonly by: string
  readonly root?: string
}
const holdText = ({ reason, by, root }: Hold): string => `${reason} ${by} ${root ?? ''}`

test(`simultaneous requests of eight clients have a result that sequential requests could have (seed ${SEED})`, async () => {
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
  expect(answers.map(({ request }) => request)).toEqual(expect.arrayContaining(['pause', 'resume', 'send', 'fork']))
  expect(daemon.errors).toEqual([])
}, 300_000)

async function sendRequests(
  daemon: LocalDaemon,
  number: number,
  { uuids, answers }: { readonly uuids: string[]; readonly answers: ClientAnswer[] },
): Promise<void> {
  const pick = makeSeededPick(SEED + number)
  const via = `client-${number}`
  const client = new Client({ socketPath: () => daemon.paths.socket, name: via })
  for (let count = 0; count < REQUESTS_PER_CLIENT; count += 1) {
    const uuid = uuids[pick(uuids.length)] ?? ''
    const request = REQUEST_KINDS[pick(REQUEST_KINDS.length)] ?? 'pause'
    try {
      const answer = await performRequest(client, uuid, request)
      answers.push({ via, uuid, request, answer: 'affected' in answer ? answer : null })
      if (request === 'fork' && uuids.length < MAX_PROCESSES && 'affected' in answer) uuids.push(answer.process.uuid)
    } catch (error) {
      if (!(error instanceof ApiError) || !POSSIBLE_REFUSALS.has(error.code)) throw error
    }
  }
}

function performRequest(client: Client, uuid: string, request: string): Promise<SteerView | object> {
  const path = `/v1/processes/${uuid}`
  switch (request) {
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
      return client.post(`${path}/signal`, { signal: request, graceMs: 50 })
  }
}

/** Compares a journal with the answers and with the view; returns the process's PIDs. */
async function checkJournal(daemon: LocalDaemon, uuid: string, answers: readonly ClientAnswer[]): Promise<number[]> {
  const clientAnswers = answers.filter((answer) => answer.uuid === uuid)
  const view = await daemon.view(uuid).catch((error: unknown) => {
    if (error instanceof ApiError && error.code === 'COLLECTED') return null
    throw error
  })
  expect(clientAnswers.some(({ request }) => request === 'rm')).toBe(view === null)
  if (view === null) return []
  const settled: ProcessView = view.status === 'stopping' || view.status === 'zombie' ? await daemon.waitForEnd(uuid) : view
  const model = new JournalModel()
  for (const event of await daemon.readHistory(uuid)) model.apply(event)
  expect([settled.status === 'suspended', settled.exit === null]).toEqual([
    model.state === 'alive' && model.holds.size > 0,
    model.state === 'alive',
  ])
  if (model.state === 'ended') expect([model.cause, settled.status]).toEqual(['person', 'stopped'])
  // Each acknowledged signal is one fact.
  const names: Readonly<Record<string, string>> = { pause: 'SIGPAUSE', SIGTERM: 'SIGTERM', SIGKILL: 'SIGKILL' }
  const acknowledged = clientAnswers.flatMap(({ via, request }) => (names[request] === undefined ? [] : [`${via} ${names[request]}`]))
  expect(model.sent.toSorted()).toEqual(acknowledged.toSorted())
  return model.pids
}
