// A full disk: what cannot be written is kept and comes again in its order, its process is held, requests are refused.
import { describe, expect, test } from 'vitest'
import { KernelError } from '../../src/kernel/errors.ts'
import { statusOf } from '../../src/kernel/status.ts'
import type { RequestBody } from '../../src/daemon/pipeline.ts'
import type { Report } from '../../src/kernel/reports.ts'
import { journalOf, openCore, settled, type Core } from '../support/kernel/daemon-core.ts'
import { kernelSpec } from '../support/kernel/world.ts'
import { uuidOf } from '../support/store-facts.ts'
import { tempDir } from '../support/tmp.ts'

const A = uuidOf(1)
const B = uuidOf(2)

/** A core with A and B at work. */
async function withWorking(use: (core: Core) => Promise<void>, timeoutMs = 60_000): Promise<void> {
  await using dir = await tempDir()
  await using core = await openCore({ dir: dir.path })
  for (const uuid of [A, B]) {
    await core.pipeline.request({ type: 'spawn', by: 'user', uuid, parent: null, spec: kernelSpec({ limits: { timeoutMs } }) })
    const pid = core.table.get(uuid)?.pid ?? 0
    core.pipeline.submit({ type: 'start', uuid, pid, containment: { kind: 'group', path: null, marker: uuid }, missingKeys: [] })
    await core.pipeline.request(report(core, uuid, { type: 'up' }))
  }
  await use(core)
}

const report = (core: Core, uuid: string, what: Report): RequestBody => ({ type: 'report', uuid, pid: core.table.get(uuid)?.pid ?? 0, report: what })
const note = (core: Core, uuid: string, text: string): RequestBody => report(core, uuid, { type: 'note', text })
const statusIn = (core: Core, uuid: string): string => {
  const process = core.table.get(uuid)
  return process ? statusOf(process) : 'gone'
}
const notes = async (core: Core, uuid: string): Promise<string[]> => (await journalOf(core, uuid)).flatMap(({ body }) => (body.type === 'process.note' ? [body.text] : []))

/** What a promise has become by now. */
function watch(promise: Promise<unknown>): { state: string } {
  const watched = { state: 'waits' }
  promise.then(() => { watched.state = 'answered' }, (error: unknown) => { watched.state = error instanceof KernelError ? error.code : String(error) })
  return watched
}

/** The disk has room again, and the daemon looks. */
async function makeRoom(core: Core): Promise<void> {
  core.store.isFull = false
  core.clock.wind(1_000)
  await settled()
}

describe('a report that cannot be written', () => {
  test('waits, all that run are held on the reserve, and all go on when there is room', () => withWorking(async (core) => {
    core.store.isFull = true
    const kept = watch(core.pipeline.request(note(core, A, 'one')))
    await settled()
    expect([kept.state, core.diskFull.trouble !== null, core.store.hasReserve, statusIn(core, A), statusIn(core, B)]).toEqual(['waits', true, false, 'suspended', 'suspended'])
    core.clock.wind(5_000)
    await settled()
    expect([kept.state, statusIn(core, A)]).toEqual(['waits', 'suspended'])
    await makeRoom(core)
    expect([kept.state, core.diskFull.trouble !== null, core.store.hasReserve, statusIn(core, A), statusIn(core, B)]).toEqual(['answered', false, true, 'working', 'working'])
    expect(await notes(core, A)).toEqual(['one'])
  }))

  test('is not overtaken by later ones of its process, also if they would fit', () => withWorking(async (core) => {
    core.store.fault = ({ facts }) => (facts.some(({ body }) => body.type === 'process.note' && body.text.startsWith('big')) ? new KernelError('DISK_FULL', 'full') : null)
    const all = ['big 1', '2', '3'].map((text) => watch(core.pipeline.request(note(core, A, text))))
    await settled()
    const more = watch(core.pipeline.request(note(core, A, '4')))
    const other = watch(core.pipeline.request(note(core, B, 'of B')))
    await settled()
    expect([...all, more, other].map(({ state }) => state)).toEqual(['waits', 'waits', 'waits', 'waits', 'answered'])
    expect(statusIn(core, A)).toBe('suspended')
    core.store.fault = () => null
    await makeRoom(core)
    expect([...all, more].map(({ state }) => state)).toEqual(['answered', 'answered', 'answered', 'answered'])
    expect(await notes(core, A)).toEqual(['big 1', '2', '3', '4'])
  }))

  test('keeps its order through a second time without room', () => withWorking(async (core) => {
    core.store.isFull = true
    const first = ['1', '2'].map((text) => watch(core.pipeline.request(note(core, A, text))))
    await settled()
    core.store.fault = () => new KernelError('DISK_FULL', 'full again')
    await makeRoom(core)
    const second = watch(core.pipeline.request(note(core, A, '3')))
    await settled()
    expect([...first, second].map(({ state }) => state)).toEqual(['waits', 'waits', 'waits'])
    core.store.fault = () => null
    await makeRoom(core)
    expect([...first, second].map(({ state }) => state)).toEqual(['answered', 'answered', 'answered'])
    expect(await notes(core, A)).toEqual(['1', '2', '3'])
    expect(statusIn(core, A)).toBe('working')
  }))

  test('of the end comes before the end of the driver', () => withWorking(async (core) => {
    core.store.isFull = true
    const pid = core.table.get(A)?.pid ?? 0
    const exited = watch(core.pipeline.request(report(core, A, { type: 'exited', code: 3, osSignal: null })))
    core.pipeline.submit({ type: 'released', uuid: A, pid, survivors: [] })
    await settled()
    expect([exited.state, core.table.get(A)?.life.state]).toEqual(['waits', 'running'])
    await makeRoom(core)
    expect([exited.state, core.table.get(A)]).toEqual(['answered', undefined])
    expect((await core.store.process(A))?.life).toMatchObject({ state: 'dead', exit: { code: 3 } })
  }))
})

describe('while the disk is full', () => {
  test('requests of persons are refused and change nothing', () => withWorking(async (core) => {
    core.store.isFull = true
    const kept = watch(core.pipeline.request(note(core, A, 'one')))
    await settled()
    const refused = [
      core.pipeline.request({ type: 'send', by: 'user', uuid: B, id: 'm', text: 'hello' }),
      core.pipeline.request({ type: 'spawn', by: 'user', uuid: uuidOf(3), parent: null, spec: kernelSpec() }),
    ].map(watch)
    await settled()
    expect(refused.map(({ state }) => state)).toEqual(['DISK_FULL', 'DISK_FULL'])
    await makeRoom(core)
    expect([kept.state, core.table.size, core.table.get(B)?.queue.length]).toEqual(['answered', 2, 0])
  }))

  test('a time that is up is not forgotten', () => withWorking(async (core) => {
    core.store.isFull = true
    core.store.hasReserve = false
    core.clock.wind(1_000)
    await settled()
    expect([statusIn(core, B), core.diskFull.trouble !== null]).toEqual(['working', true])
    await makeRoom(core)
    expect([statusIn(core, A), statusIn(core, B)]).toEqual(['stopping', 'stopping'])
  }, 1_000))

  test('a hold that finds no room is tried again with the next report', () => withWorking(async (core) => {
    core.store.isFull = true
    core.store.hasReserve = false
    const first = watch(core.pipeline.request(note(core, A, '1')))
    await settled()
    expect(statusIn(core, A)).toBe('working')
    core.store.spare = 1
    const second = watch(core.pipeline.request(note(core, A, '2')))
    await settled()
    expect([first.state, second.state, statusIn(core, A)]).toEqual(['waits', 'waits', 'suspended'])
    await makeRoom(core)
    expect([first.state, second.state, statusIn(core, A)]).toEqual(['answered', 'answered', 'working'])
  }))

  test('a hold of another kind stays when the room is back', () => withWorking(async (core) => {
    core.pipeline.submit({ type: 'hold', uuid: A, reason: 'loop' })
    await settled()
    core.store.isFull = true
    const kept = watch(core.pipeline.request(note(core, A, 'one')))
    await settled()
    await makeRoom(core)
    expect([kept.state, statusIn(core, A)]).toEqual(['answered', 'suspended'])
    expect(core.table.get(A)?.life).toMatchObject({ holds: [{ reason: 'loop' }] })
  }))
})

describe('another trouble of the store', () => {
  test.each(['READ_ONLY', 'STORE_LOCKED', 'UNAVAILABLE'] as const)('%s: reports wait in their order until it has passed; nothing is held', (code) => withWorking(async (core) => {
    core.store.fault = () => new KernelError(code, 'no')
    const kept = ['one', 'two'].map((text) => watch(core.pipeline.request(note(core, A, text))))
    const asked = watch(core.pipeline.request({ type: 'send', by: 'user', uuid: B, id: 'm', text: 'hello' }))
    await settled()
    expect([kept.map(({ state }) => state), asked.state, core.diskFull.trouble?.code]).toEqual([['waits', 'waits'], code, code])
    core.clock.wind(1_000)
    await settled()
    expect(kept.map(({ state }) => state)).toEqual(['waits', 'waits'])
    core.store.fault = () => null
    core.clock.wind(1_000)
    await settled()
    expect([kept.map(({ state }) => state), core.diskFull.trouble, statusIn(core, A)]).toEqual([['answered', 'answered'], null, 'working'])
    expect(await notes(core, A)).toEqual(['one', 'two'])
  }))

  test('a broken invariant is told at once', () => withWorking(async (core) => {
    core.store.fault = () => new KernelError('INTERNAL', 'no')
    const refused = watch(core.pipeline.request(note(core, A, 'one')))
    await settled()
    expect([refused.state, core.diskFull.trouble]).toEqual(['INTERNAL', null])
  }))
})

describe('a checkpoint', () => {
  const factsOf = async (core: Core): Promise<string[]> => (await journalOf(core, A)).map(({ body }) => body.type).filter((type) => type.startsWith('checkpoint') || type === 'process.note')
  const checkpoint = (core: Core) => ({ type: 'checkpoint', uuid: A, pid: core.table.get(A)?.pid ?? 0, error: null }) as const

  test('goes with the next commit, and makes none of its own', () => withWorking(async (core) => {
    core.pipeline.join(checkpoint(core))
    await settled()
    expect(await factsOf(core)).toEqual([])
    await core.pipeline.request(note(core, A, 'one'))
    expect(await factsOf(core)).toEqual(['checkpoint.written', 'process.note'])
  }))

  test('that cannot be written is a warning, and holds up nobody', () => withWorking(async (core) => {
    core.store.fault = ({ facts }) => (facts.some(({ body }) => body.type === 'checkpoint.written') ? new KernelError('DISK_FULL', 'no') : null)
    core.pipeline.join(checkpoint(core))
    await core.pipeline.request(note(core, A, 'one'))
    await settled()
    expect([await factsOf(core), core.diskFull.trouble, statusIn(core, A)]).toEqual([['process.note', 'checkpoint.failed'], null, 'working'])
    expect(core.table.get(A)?.note).toBe('checkpoint failed: no')
  }))
})
