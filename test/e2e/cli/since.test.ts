// Logs and events since a time, in a history longer than a page, by the API and by the command line.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { EventView, LogLine } from '../../../src/index.ts'
import { formatClock } from '../../../src/faces/format.ts'
import { runCli } from '../../support/daemon/cli.ts'
import { LocalDaemon } from '../../support/daemon/local-daemon.ts'

const MESSAGES = 1_200

let daemon: LocalDaemon
let uuid: string
let sentEvents: readonly EventView[]

beforeAll(async () => {
  daemon = await LocalDaemon.start()
  const process = await daemon.spawnScripted([], { interactive: true, name: 'long' })
  uuid = process.uuid
  await daemon.waitUntilReady(uuid)
  await daemon.pause(uuid)
  await daemon.spawnShell('echo another', { name: 'other' })
  for (let i = 0; i < MESSAGES; i += 40) {
    await Promise.all(
      Array.from({ length: 40 }, (_, j) =>
        daemon.client.post(`/v1/processes/${uuid}/send`, { text: `message ${i + j}` }).catch(() => null),
      ),
    )
  }
  sentEvents = (await daemon.readHistory(uuid)).filter((event) => event['fact'] === 'process.queue')
})
afterAll(() => daemon[Symbol.asyncDispose]())

/** Returns the first message after this index whose time differs from that of its predecessor. */
function findFirstAfter(messageNumber: number): number {
  const index = sentEvents.findIndex((event, index) => index > messageNumber && event.at !== sentEvents[index - 1]?.at)
  if (index < 0) throw new Error('all messages came at once')
  return index
}

const textsOf = (events: readonly EventView[]): unknown[] => events.map((event) => event['text'])

describe.each([0, 400, 700, 900])('since a message after the %dth', (messageNumber) => {
  test('the log has the messages since then', async () => {
    const messageIndex = findFirstAfter(messageNumber)
    const since = Date.parse(sentEvents[messageIndex]!.at)
    const expected = textsOf(sentEvents.slice(messageIndex))
    const readTexts = async (query: Readonly<Record<string, string | number>>) =>
      (await daemon.client.get<{ lines: LogLine[] }>(`/v1/processes/${uuid}/logs`, query)).lines.map(({ text }) => text)
    expect(await readTexts({ tail: 10_000, since })).toEqual(expected)
    expect(await readTexts({ tail: 10_000, since: sentEvents[messageIndex]!.at })).toEqual(expected)
    expect(await readTexts({ tail: 3, since })).toEqual(expected.slice(-3))
  })

  test('the events of one process and of all have the messages since then', async () => {
    const messageIndex = findFirstAfter(messageNumber)
    for (const path of [`/v1/processes/${uuid}/events`, '/v1/events']) {
      const receivedEvents: EventView[] = []
      for await (const event of daemon.client.events(path, { query: { since: sentEvents[messageIndex]!.at } })) receivedEvents.push(event)
      expect(textsOf(receivedEvents.filter((event) => event['fact'] === 'process.queue'))).toEqual(textsOf(sentEvents.slice(messageIndex)))
    }
  })
})

test('a time in the future selects no events', async () => {
  const since = Date.now() + 1_000_000
  expect(await daemon.client.get(`/v1/processes/${uuid}/logs`, { since })).toMatchObject({ lines: [] })
  for await (const event of daemon.client.events('/v1/events', { query: { since } })) throw new Error(`there was ${event.type}`)
})

test.each(['noon', 'a-10000', '+010000-01-01', '9999-12-31T23:00-05:00', '2026-13-01', '999999999999999', '-1'])(
  'the time %j is refused',
  async (since) => {
    for (const path of [`/v1/processes/${uuid}/logs`, '/v1/usage'])
      await expect(daemon.client.get(path, { since })).rejects.toMatchObject({
        code: 'INVALID',
        message: `since: "${since}" is not a time`,
      })
  },
)

test.each([
  '0',
  '1969-07-20',
  '2026-01-31',
  '2026-01-31T14:05',
  '2026-01-31T14:05:06.789Z',
  '2026-01-31T14:05+02:00',
  '9999-12-31T23:59:59Z',
])('the time %j is accepted', async (since) => {
  expect(await daemon.client.get('/v1/usage', { since })).toMatchObject({ since: expect.stringMatching(/^\d{4}-\d\d-\d\dT/) })
})

test('the command line shows the messages with their times', async () => {
  const messageIndex = findFirstAfter(900)
  const { code, stdout } = await runCli(daemon.home, ['logs', '-t', '--since', sentEvents[messageIndex]!.at.replace('+00:00', 'Z'), 'long'])
  expect([code, stdout.trimEnd().split('\n')]).toEqual([
    0,
    sentEvents.slice(messageIndex).map((event) => `${formatClock(event.at, Date.now())} > ${String(event['text'])}`),
  ])
  const events = await runCli(daemon.home, ['events', '--since', '9d', '--tail', '1', '--json', 'long'])
  expect(JSON.parse(events.stdout)).toMatchObject({ text: sentEvents.at(-1)?.['text'] })
})
