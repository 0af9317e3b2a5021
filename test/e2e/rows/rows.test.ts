// The rows of a real daemon, as a snapshot in both shapes, and as a stream whose patches lead to the same rows. Covers scopes, ends,
// removals, a viewer that returns, and a restart of the daemon.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { MAX_EVENT_BYTES } from '../../../src/api/client/event-stream.ts'
import { applyRowEvent, type RowEvent } from '../../../src/api/row-events.ts'
import { responseSchemas } from '../../../src/daemon/http/responses.ts'
import { connect } from '../../../src/index.ts'
import type { RowView } from '../../../src/api/views/rows.ts'
import { DaemonHome } from '../../support/daemon/daemon-home.ts'
import { ManyRowsDaemon } from '../../support/faces/many-rows-daemon.ts'

let home: DaemonHome

beforeAll(async () => {
  home = await DaemonHome.create()
  await home.start()
})
afterAll(() => home[Symbol.asyncDispose]())

/** A viewer of the library, with its rows. */
class Viewer implements Disposable {
  readonly rows = new Map<string, RowView>()
  readonly events: RowEvent[] = []
  readonly #abort = new AbortController()
  readonly #stream: AsyncGenerator<RowEvent, void>

  constructor(options: { readonly scope?: 'live' | 'recent' | 'all' | `subtree:${string}`; readonly after?: string } = {}) {
    this.#stream = connect({ home: home.path, start: false }).followRows({ ...options, signal: this.#abort.signal })
  }

  /** Reads events until the rows fulfil a condition. */
  async until(condition: (rows: readonly RowView[]) => boolean): Promise<void> {
    for (;;) {
      const { value, done } = await this.#stream.next()
      if (done) throw new Error('the stream has ended')
      this.events.push(value)
      applyRowEvent(this.rows, value)
      if (condition([...this.rows.values()])) return
    }
  }

  row(name: string): RowView | undefined {
    return [...this.rows.values()].find((row) => row.name === name)
  }

  get cursor(): string {
    return this.events.at(-1)?.cursor ?? ''
  }

  [Symbol.dispose](): void {
    this.#abort.abort()
  }
}

const byName = (rows: readonly RowView[], name: string): RowView | undefined => rows.find((row) => row.name === name)
const startSleeper = (name: string): Promise<unknown> =>
  home.client.post('/v1/processes', { intent: '', argv: ['sleep', '1000'], name, cwd: home.work })

test('a viewer sees starts, holds, ends and removals, and its rows equal a snapshot', async () => {
  using live = new Viewer({ scope: 'live' })
  using recent = new Viewer()
  await live.until(() => true)
  expect(live.events[0]?.type).toBe('reset')
  await recent.until(() => true)
  await startSleeper('sleeps')
  await live.until((rows) => byName(rows, 'sleeps')?.status === 'working')
  expect(live.row('sleeps')?.why).toMatchObject({ kind: 'work', text: 'its program runs', can: ['stop'] })
  expect(live.row('sleeps')?.sub).toMatchObject({ live: 1, working: 1 })
  await home.client.post('/v1/processes/sleeps/pause', {})
  await live.until((rows) => byName(rows, 'sleeps')?.why?.kind === 'hold:user')
  expect(live.row('sleeps')).toMatchObject({ status: 'suspended', runsSince: null, why: { text: 'paused by the user', can: ['resume'] } })
  await home.client.post('/v1/processes/sleeps/signal', { signal: 'SIGKILL' })
  await live.until((rows) => rows.length === 0)
  await recent.until((rows) => typeof byName(rows, 'sleeps')?.endedAt === 'string')
  expect(recent.row('sleeps')).toMatchObject({ status: 'stopped', why: null, sub: { live: 0 } })

  const objects = await home.client.get<{ rows: RowView[]; cursor: string }>('/v1/rows', { shape: 'objects' })
  expect(responseSchemas.rows.parse(objects)).toEqual(objects)
  expect([...recent.rows.values()]).toEqual(objects.rows)
  const columns = await home.client.get<{ columns: Record<string, unknown[]> }>('/v1/rows')
  expect(columns.columns).toEqual(
    Object.fromEntries(Object.keys(objects.rows[0] ?? {}).map((field) => [field, objects.rows.map((row) => row[field as keyof RowView])])),
  )
  for (const event of [...live.events, ...recent.events]) expect(responseSchemas.rowEvents.parse(event)).toEqual(event)

  await home.client.delete('/v1/processes/sleeps')
  await recent.until((rows) => byName(rows, 'sleeps') === undefined)
})

test('a viewer that returns gets what it missed, or all rows if its cursor is of another daemon', async () => {
  await startSleeper('stays')
  const first = new Viewer()
  await first.until((rows) => byName(rows, 'stays')?.status === 'working')
  first[Symbol.dispose]()
  await home.client.post('/v1/processes/stays/pause', {})
  await startSleeper('comes')
  using second = new Viewer({ after: first.cursor })
  for (const [uuid, row] of first.rows) second.rows.set(uuid, row)
  await second.until((rows) => byName(rows, 'comes')?.status === 'working' && byName(rows, 'stays')?.status === 'suspended')
  expect(second.events.map(({ type }) => type)).not.toContain('reset')
  const { rows } = await home.client.get<{ rows: RowView[] }>('/v1/rows', { shape: 'objects' })
  expect([...second.rows.values()].toSorted((a, b) => (a.uuid < b.uuid ? -1 : 1))).toEqual(rows)

  using foreign = new Viewer({ after: 'x-1' })
  await foreign.until(() => true)
  expect(foreign.events[0]?.type).toBe('reset')
})

test('the scope of a subtree has a process and all below it', async () => {
  await home.client.post('/v1/processes', {
    cwd: home.work,
    name: 'team',
    supervisor: { children: [{ childId: 'a', intent: '', argv: ['sleep', '1000'], name: 'child-a' }] },
  })
  using tree = new Viewer({ scope: 'subtree:team' })
  await tree.until((rows) => byName(rows, 'child-a')?.status === 'working')
  expect([...tree.rows.values()].map(({ name }) => name).toSorted()).toEqual(['child-a', 'team'])
  await tree.until((rows) => byName(rows, 'team')?.sub.working === 1)
  expect(tree.row('team')).toMatchObject({ kind: 'supervisor', why: { kind: 'child', text: '1 of 1 children run' }, sub: { live: 2 } })
  await expect(home.client.get('/v1/rows', { scope: 'subtree:nobody' })).rejects.toMatchObject({ code: 'NOT_FOUND' })
  await expect(home.client.get('/v1/rows', { scope: 'nothing' })).rejects.toMatchObject({ code: 'INVALID' })
})

test('after a kill of the daemon, a stream continues with a snapshot of the next daemon', async () => {
  using viewer = new Viewer()
  await startSleeper('survives')
  await viewer.until((rows) => byName(rows, 'survives')?.status === 'working')
  await home.kill()
  await home.start()
  await viewer.until((rows) => typeof byName(rows, 'survives')?.endedAt === 'string')
  expect(viewer.events.filter(({ type }) => type === 'reset')).toHaveLength(2)
  const { rows } = await home.client.get<{ rows: RowView[] }>('/v1/rows', { shape: 'objects' })
  expect([...viewer.rows.values()].toSorted((a, b) => (a.uuid < b.uuid ? -1 : 1))).toEqual(rows)
})

test('a snapshot may be longer than any other event', async () => {
  const many = mkdtempSync(join(tmpdir(), 'reeve-rows-'))
  const count = 16_000
  await using _daemon = await ManyRowsDaemon.start(many, count)
  const stream = connect({ home: many, start: false }).followRows()
  const { value } = await stream.next()
  expect(value).toMatchObject({ type: 'reset', rows: { length: count } })
  expect(JSON.stringify(value).length).toBeGreaterThan(MAX_EVENT_BYTES)
  await stream.return()
  rmSync(many, { recursive: true })
})
