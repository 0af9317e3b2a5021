// The needs in the stream of rows: a viewer that folds them always has what `GET /v1/needs` lists. It reads each need once, with its
// evidence, and nothing of a need that has ended.
import { afterEach, beforeEach, expect, test } from 'vitest'
import { applyRowEvent, needsAfter, type RowEvent } from '../../../src/api/row-events.ts'
import type { NeedsView, NeedView } from '../../../src/api/views/needs.ts'
import type { ProcessView, SpawnBody } from '../../../src/api/views/process.ts'
import type { RowsView, RowView } from '../../../src/api/views/rows.ts'
import { responseSchemas } from '../../../src/daemon/http/responses.ts'
import { connect } from '../../../src/index.ts'
import { LocalDaemon } from '../../support/daemon/local-daemon.ts'

let daemon: LocalDaemon

beforeEach(async () => {
  daemon = await LocalDaemon.start()
})
afterEach(async () => {
  await daemon[Symbol.asyncDispose]()
  expect(daemon.errors).toEqual([])
})

class NeedsViewer implements Disposable {
  needs: readonly NeedView[] = []
  readonly rows = new Map<string, RowView>()
  readonly events: RowEvent[] = []
  readonly #abort = new AbortController()
  readonly #stream: AsyncGenerator<RowEvent, void>

  constructor(options: { readonly scope?: `subtree:${string}`; readonly after?: string } = {}) {
    this.#stream = connect({ home: daemon.home, start: false }).followRows({ ...options, signal: this.#abort.signal })
  }

  async until(condition: (needs: readonly NeedView[]) => boolean): Promise<readonly NeedView[]> {
    for (;;) {
      const { value, done } = await this.#stream.next()
      if (done) throw new Error('the stream has ended')
      expect(responseSchemas.rowEvents.parse(value)).toEqual(value)
      this.events.push(value)
      applyRowEvent(this.rows, value)
      this.needs = needsAfter(this.needs, value)
      if (condition(this.needs)) return this.needs
    }
  }

  [Symbol.dispose](): void {
    this.#abort.abort()
  }
}

const startAsking = (body: Partial<SpawnBody> = {}): Promise<ProcessView> =>
  daemon.spawnScripted([{ tools: [{ name: 'write', input: { path: 'a', content: 'x' } }] }, { text: 'done' }], {
    permissions: 'ask',
    ...body,
  })
const listNeeds = async (): Promise<NeedView[]> => (await daemon.client.get<NeedsView>('/v1/needs')).needs

test('a question comes with its evidence, is snoozed, and ends with its answer', async () => {
  using viewer = new NeedsViewer()
  expect(await viewer.until(() => true)).toEqual([])
  const { uuid } = await startAsking({ name: 'asks' })
  expect(await viewer.until(({ length }) => length === 1)).toEqual(await listNeeds())
  expect(viewer.needs).toMatchObject([{ uuid, kind: 'edit', ask: { diff: [{ path: 'a', old: null, new: 'x' }] }, snoozedUntil: null }])
  const until = new Date(Date.now() + 3_600_000).toISOString()
  await daemon.client.post(`/v1/processes/${uuid}/snooze`, { until })
  await viewer.until(([need]) => Date.parse(need?.snoozedUntil ?? '') === Date.parse(until))
  const [first] = viewer.needs
  const snapshot = await daemon.client.get<RowsView>('/v1/rows', { shape: 'objects' })
  expect(snapshot.needs).toEqual([first])
  await daemon.client.post(`/v1/processes/${uuid}/answer`, { option: 'deny' })
  // Its end is another need, which is not snoozed.
  await viewer.until(([need]) => need?.kind === 'finished')
  expect(viewer.needs).toHaveLength(1)
})

test('a returning viewer gets the current needs, and other changes send no needs', async () => {
  const first = new NeedsViewer()
  const { uuid } = await startAsking()
  await first.until(({ length }) => length === 1)
  const last = first.events.at(-1)
  first[Symbol.dispose]()
  await daemon.client.post(`/v1/processes/${uuid}/seen`, {})
  using second = new NeedsViewer({ after: last?.cursor ?? '' })
  expect(await second.until(([need]) => need?.seen === true)).toMatchObject([{ uuid }])
  expect(second.events.map(({ type }) => type)).not.toContain('reset')
  const count = second.events.length
  await daemon.spawnShell('sleep 1000', { name: 'other' })
  await second.until(() => [...second.rows.values()].some(({ name }) => name === 'other'))
  expect(second.events.slice(count).filter((event) => 'needIds' in event)).toEqual([])
})

test('a need names its root, also after a rename; in the scope of a subtree, that is the root of the subtree', async () => {
  const root = await daemon.spawnScripted([{ text: 'hello' }], { interactive: true, name: 'root' })
  const child = await daemon.spawnScripted([{ text: 'hello' }], { interactive: true, name: 'child', parent: root.uuid })
  const { uuid } = await startAsking({ parent: child.uuid })
  using all = new NeedsViewer()
  using below = new NeedsViewer({ scope: `subtree:${child.uuid}` })
  expect(await all.until(({ length }) => length === 1)).toMatchObject([{ uuid, root: root.uuid, rootName: 'root' }])
  expect(await below.until(({ length }) => length === 1)).toMatchObject([{ uuid, root: child.uuid, rootName: 'child' }])
  await daemon.client.post(`/v1/processes/${root.uuid}/rename`, { name: 'renamed' })
  expect(await all.until(([need]) => need?.rootName === 'renamed')).toEqual(await listNeeds())
  await daemon.client.post(`/v1/processes/${child.uuid}/rename`, { name: 'inner' })
  await below.until(([need]) => need?.rootName === 'inner')
})
