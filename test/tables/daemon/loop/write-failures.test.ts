// A full disk: inputs that cannot be written are kept and repeated in order, their processes are held, and requests are refused.
// Also other failures of the store, and checkpoints that cannot be written.
import { describe, expect, test } from 'vitest'
import { KernelError } from '../../../../src/kernel/model/errors.ts'
import { statusOf } from '../../../../src/kernel/model/status.ts'
import type { RequestBody } from '../../../../src/daemon/loop/pipeline.ts'
import type { Report } from '../../../../src/kernel/model/reports.ts'
import { journalOf, openCore, waitUntilSettled, type Core } from '../../../support/kernel/daemon-core.ts'
import { kernelSpec } from '../../../support/kernel/world.ts'
import { uuidOf } from '../../../support/store/facts.ts'
import { tempDir } from '../../../support/tmp.ts'

const A = uuidOf(1)
const B = uuidOf(2)

/** Calls `useCore` with a core in which the processes A and B work. */
async function withWorkingProcesses(useCore: (core: Core) => Promise<void>, timeoutMs = 60_000): Promise<void> {
  await using dir = await tempDir()
  await using core = await openCore({ dir: dir.path })
  for (const uuid of [A, B]) {
    await core.pipeline.request({ type: 'spawn', by: 'user', uuid, parent: null, spec: kernelSpec({ limits: { timeoutMs } }) })
    const pid = core.table.get(uuid)?.pid ?? 0
    core.pipeline.submit({ type: 'start', uuid, pid, containment: { kind: 'group', path: null, marker: uuid }, missingKeys: [] })
    await core.pipeline.request(reportRequest(core, uuid, { type: 'up' }))
  }
  await useCore(core)
}

const reportRequest = (core: Core, uuid: string, body: Report): RequestBody => ({
  type: 'report',
  uuid,
  pid: core.table.get(uuid)?.pid ?? 0,
  report: body,
})
const noteRequest = (core: Core, uuid: string, text: string): RequestBody => reportRequest(core, uuid, { type: 'note', text })
const statusIn = (core: Core, uuid: string): string => {
  const process = core.table.get(uuid)
  return process ? statusOf(process) : 'gone'
}
const notesIn = async (core: Core, uuid: string): Promise<string[]> =>
  (await journalOf(core, uuid)).flatMap(({ body }) => (body.type === 'process.note' ? [body.text] : []))

/** Returns an object whose `state` follows the promise. */
function watchPromise(promise: Promise<unknown>): { state: string } {
  const watched = { state: 'waits' }
  promise.then(
    () => {
      watched.state = 'answered'
    },
    (error: unknown) => {
      watched.state = error instanceof KernelError ? error.code : String(error)
    },
  )
  return watched
}

/** Gives the disk room again, and advances the clock to the next retry. */
async function makeRoom(core: Core): Promise<void> {
  core.store.isFull = false
  core.clock.wind(1_000)
  await waitUntilSettled()
}

describe('a report that cannot be written', () => {
  test('waits; running processes are held with the help of the reserve, and all continue when there is room', () =>
    withWorkingProcesses(async (core) => {
      core.store.isFull = true
      const keptNote = watchPromise(core.pipeline.request(noteRequest(core, A, 'one')))
      await waitUntilSettled()
      expect([
        keptNote.state,
        core.writeFailures.currentError !== null,
        core.store.hasReserve,
        statusIn(core, A),
        statusIn(core, B),
      ]).toEqual(['waits', true, false, 'suspended', 'suspended'])
      core.clock.wind(5_000)
      await waitUntilSettled()
      expect([keptNote.state, statusIn(core, A)]).toEqual(['waits', 'suspended'])
      await makeRoom(core)
      expect([
        keptNote.state,
        core.writeFailures.currentError !== null,
        core.store.hasReserve,
        statusIn(core, A),
        statusIn(core, B),
      ]).toEqual(['answered', false, true, 'working', 'working'])
      expect(await notesIn(core, A)).toEqual(['one'])
    }))

  test('is written before later reports of its process, even if there is room for those', () =>
    withWorkingProcesses(async (core) => {
      core.store.fault = ({ facts }) =>
        facts.some(({ body }) => body.type === 'process.note' && body.text.startsWith('big')) ? new KernelError('DISK_FULL', 'full') : null
      const firstReports = ['big 1', '2', '3'].map((text) => watchPromise(core.pipeline.request(noteRequest(core, A, text))))
      await waitUntilSettled()
      const laterReport = watchPromise(core.pipeline.request(noteRequest(core, A, '4')))
      const otherReport = watchPromise(core.pipeline.request(noteRequest(core, B, 'of B')))
      await waitUntilSettled()
      expect([...firstReports, laterReport, otherReport].map(({ state }) => state)).toEqual([
        'waits',
        'waits',
        'waits',
        'waits',
        'answered',
      ])
      expect(statusIn(core, A)).toBe('suspended')
      core.store.fault = () => null
      await makeRoom(core)
      expect([...firstReports, laterReport].map(({ state }) => state)).toEqual(['answered', 'answered', 'answered', 'answered'])
      expect(await notesIn(core, A)).toEqual(['big 1', '2', '3', '4'])
    }))

  test('keeps its place in the order if it finds no room again', () =>
    withWorkingProcesses(async (core) => {
      core.store.isFull = true
      const firstNotes = ['1', '2'].map((text) => watchPromise(core.pipeline.request(noteRequest(core, A, text))))
      await waitUntilSettled()
      core.store.fault = () => new KernelError('DISK_FULL', 'full again')
      await makeRoom(core)
      const secondNote = watchPromise(core.pipeline.request(noteRequest(core, A, '3')))
      await waitUntilSettled()
      expect([...firstNotes, secondNote].map(({ state }) => state)).toEqual(['waits', 'waits', 'waits'])
      core.store.fault = () => null
      await makeRoom(core)
      expect([...firstNotes, secondNote].map(({ state }) => state)).toEqual(['answered', 'answered', 'answered'])
      expect(await notesIn(core, A)).toEqual(['1', '2', '3'])
      expect(statusIn(core, A)).toBe('working')
    }))

  test('about the exit is written before the release', () =>
    withWorkingProcesses(async (core) => {
      core.store.isFull = true
      const pid = core.table.get(A)?.pid ?? 0
      const exited = watchPromise(core.pipeline.request(reportRequest(core, A, { type: 'exited', code: 3, osSignal: null })))
      core.pipeline.submit({ type: 'released', uuid: A, pid, survivors: [] })
      await waitUntilSettled()
      expect([exited.state, core.table.get(A)?.life.state]).toEqual(['waits', 'running'])
      await makeRoom(core)
      expect([exited.state, core.table.get(A)]).toEqual(['answered', undefined])
      expect((await core.store.process(A))?.life).toMatchObject({ state: 'dead', exit: { code: 3 } })
    }))
})

describe('while the disk is full', () => {
  test('requests of users are refused and change nothing', () =>
    withWorkingProcesses(async (core) => {
      core.store.isFull = true
      const keptNote = watchPromise(core.pipeline.request(noteRequest(core, A, 'one')))
      await waitUntilSettled()
      const refused = [
        core.pipeline.request({ type: 'send', by: 'user', uuid: B, id: 'm', text: 'hello' }),
        core.pipeline.request({ type: 'spawn', by: 'user', uuid: uuidOf(3), parent: null, spec: kernelSpec() }),
      ].map(watchPromise)
      await waitUntilSettled()
      expect(refused.map(({ state }) => state)).toEqual(['DISK_FULL', 'DISK_FULL'])
      await makeRoom(core)
      expect([keptNote.state, core.table.size, core.table.get(B)?.queue.length]).toEqual(['answered', 2, 0])
    }))

  test('a passed time limit is not forgotten', () =>
    withWorkingProcesses(async (core) => {
      core.store.isFull = true
      core.store.hasReserve = false
      core.clock.wind(1_000)
      await waitUntilSettled()
      expect([statusIn(core, B), core.writeFailures.currentError !== null]).toEqual(['working', true])
      await makeRoom(core)
      expect([statusIn(core, A), statusIn(core, B)]).toEqual(['stopping', 'stopping'])
    }, 1_000))

  test('a hold without room is tried again with the next report', () =>
    withWorkingProcesses(async (core) => {
      core.store.isFull = true
      core.store.hasReserve = false
      const firstNote = watchPromise(core.pipeline.request(noteRequest(core, A, '1')))
      await waitUntilSettled()
      expect(statusIn(core, A)).toBe('working')
      core.store.remainingCommits = 1
      const secondNote = watchPromise(core.pipeline.request(noteRequest(core, A, '2')))
      await waitUntilSettled()
      expect([firstNote.state, secondNote.state, statusIn(core, A)]).toEqual(['waits', 'waits', 'suspended'])
      await makeRoom(core)
      expect([firstNote.state, secondNote.state, statusIn(core, A)]).toEqual(['answered', 'answered', 'working'])
    }))

  test('a hold for another reason stays when there is room again', () =>
    withWorkingProcesses(async (core) => {
      core.pipeline.submit({ type: 'hold', uuid: A, reason: 'loop' })
      await waitUntilSettled()
      core.store.isFull = true
      const keptNote = watchPromise(core.pipeline.request(noteRequest(core, A, 'one')))
      await waitUntilSettled()
      await makeRoom(core)
      expect([keptNote.state, statusIn(core, A)]).toEqual(['answered', 'suspended'])
      expect(core.table.get(A)?.life).toMatchObject({ holds: [{ reason: 'loop' }] })
    }))
})

describe('an end fits on a full disk', () => {
  const killRequest = (core: Core, signal: 'SIGTERM' | 'SIGKILL') =>
    watchPromise(core.pipeline.request({ type: 'signal', by: 'user', uuid: A, signal, subtree: false, graceMs: 300, freeze: false }))
  const fillDisk = async (core: Core, reserveParts: number) => {
    core.store.isFull = true
    core.store.reserveParts = reserveParts
    const keptNote = watchPromise(core.pipeline.request(noteRequest(core, A, 'one')))
    await waitUntilSettled()
    expect([keptNote.state, statusIn(core, A), statusIn(core, B)]).toEqual(['waits', 'suspended', 'suspended'])
    return keptNote
  }
  const submitEnd = (core: Core): void => {
    const pid = core.table.get(A)?.pid ?? 0
    core.pipeline.submit({ ...reportRequest(core, A, { type: 'exited', code: null, osSignal: 'SIGKILL' }), reply: 0 })
    core.pipeline.submit({ type: 'released', uuid: A, pid, survivors: [] })
  }
  const waitForRetries = async (core: Core, count: number): Promise<void> => {
    for (let time = 0; time < count; time++) {
      core.clock.wind(1_000)
      await waitUntilSettled()
      await waitUntilSettled()
    }
  }

  test.each(['SIGTERM', 'SIGKILL'] as const)(
    '%s is accepted, and the reports of its process until its end are written in order',
    (signal) =>
      withWorkingProcesses(async (core) => {
        const keptNote = await fillDisk(core, 5)
        const request = killRequest(core, signal)
        await waitUntilSettled()
        await waitUntilSettled()
        expect(request.state).toBe('answered')
        submitEnd(core)
        await waitForRetries(core, 4)
        expect([keptNote.state, core.table.get(A), statusIn(core, B), core.writeFailures.currentError?.code]).toEqual([
          'answered',
          undefined,
          'suspended',
          'DISK_FULL',
        ])
        expect((await core.store.process(A))?.life).toMatchObject({ state: 'dead' })
        expect(await notesIn(core, A)).toEqual(['one'])
        await makeRoom(core)
        expect(statusIn(core, B)).toBe('working')
      }),
  )

  test('output of an ending process uses none of the room for its end', () =>
    withWorkingProcesses(async (core) => {
      await fillDisk(core, 3)
      killRequest(core, 'SIGTERM')
      await waitUntilSettled()
      await waitUntilSettled()
      const written = Array.from({ length: 50 }, () =>
        watchPromise(core.pipeline.request(reportRequest(core, A, { type: 'output', stream: 'stdout', text: 'x'.repeat(65_536) }))),
      )
      submitEnd(core)
      await waitForRetries(core, 4)
      expect(written.map(({ state }) => state)).toEqual(written.map(() => 'answered'))
      expect((await core.store.process(A))?.life).toMatchObject({ state: 'dead' })
      const outputs = (await journalOf(core, A)).flatMap(({ body }) => (body.type === 'process.output' ? [body.text] : []))
      expect(outputs).toEqual(['[the disk is full: what was written from here to the end is not kept]\n'])
    }))

  test('a process whose exit was written is also released', () =>
    withWorkingProcesses(async (core) => {
      await fillDisk(core, 6)
      killRequest(core, 'SIGKILL')
      await waitForRetries(core, 1)
      const pid = core.table.get(A)?.pid ?? 0
      core.pipeline.submit({ ...reportRequest(core, A, { type: 'exited', code: null, osSignal: 'SIGKILL' }), reply: 0 })
      await waitForRetries(core, 2)
      expect(core.table.get(A)?.life.state).toBe('zombie')
      core.pipeline.submit({ type: 'released', uuid: A, pid, survivors: [] })
      await waitForRetries(core, 2)
      expect(core.table.get(A)).toBeUndefined()
    }))

  test('a request to end a process is refused if the reserve is used up, and the process stays unchanged', () =>
    withWorkingProcesses(async (core) => {
      await fillDisk(core, 1)
      const request = killRequest(core, 'SIGKILL')
      await waitUntilSettled()
      await waitUntilSettled()
      expect([request.state, statusIn(core, A)]).toEqual(['DISK_FULL', 'suspended'])
    }))

  test('a stop of the daemon writes the deferred inputs, and does not wait for those that cannot be written', () =>
    withWorkingProcesses(async (core) => {
      const keptNote = await fillDisk(core, 2)
      core.writeFailures.drain()
      core.pipeline.submit({ type: 'hold', uuid: null, reason: 'daemon-shutdown' })
      await waitForRetries(core, 3)
      expect([keptNote.state, core.writeFailures.isStuck(A)]).toEqual(['answered', false])
      const lateNote = watchPromise(core.pipeline.request(noteRequest(core, B, 'two')))
      await waitForRetries(core, 3)
      expect([lateNote.state, core.writeFailures.isStuck(B)]).toEqual(['waits', true])
    }))
})

describe('another failure of the store', () => {
  test.each(['DISK_FAILED', 'READ_ONLY', 'STORE_LOCKED', 'UNAVAILABLE'] as const)(
    '%s: reports wait in their order until it has passed; nothing is held',
    (code) =>
      withWorkingProcesses(async (core) => {
        core.store.fault = () => new KernelError(code, 'no')
        const keptNotes = ['one', 'two'].map((text) => watchPromise(core.pipeline.request(noteRequest(core, A, text))))
        const request = watchPromise(core.pipeline.request({ type: 'send', by: 'user', uuid: B, id: 'm', text: 'hello' }))
        await waitUntilSettled()
        expect([keptNotes.map(({ state }) => state), request.state, core.writeFailures.currentError?.code]).toEqual([
          ['waits', 'waits'],
          code,
          code,
        ])
        core.clock.wind(1_000)
        await waitUntilSettled()
        expect(keptNotes.map(({ state }) => state)).toEqual(['waits', 'waits'])
        core.store.fault = () => null
        core.clock.wind(1_000)
        await waitUntilSettled()
        expect([keptNotes.map(({ state }) => state), core.writeFailures.currentError, statusIn(core, A)]).toEqual([
          ['answered', 'answered'],
          null,
          'working',
        ])
        expect(await notesIn(core, A)).toEqual(['one', 'two'])
      }),
  )

  test('a broken invariant is reported at once', () =>
    withWorkingProcesses(async (core) => {
      core.store.fault = () => new KernelError('INTERNAL', 'no')
      const refused = watchPromise(core.pipeline.request(noteRequest(core, A, 'one')))
      await waitUntilSettled()
      expect([refused.state, core.writeFailures.currentError]).toEqual(['INTERNAL', null])
    }))
})

describe('a checkpoint', () => {
  const factsOf = async (core: Core): Promise<string[]> =>
    (await journalOf(core, A)).map(({ body }) => body.type).filter((type) => type.startsWith('checkpoint') || type === 'process.note')
  const checkpointInput = (core: Core) => ({ type: 'checkpoint', uuid: A, pid: core.table.get(A)?.pid ?? 0, error: null }) as const

  test('joins the next commit, and causes no commit of its own', () =>
    withWorkingProcesses(async (core) => {
      core.pipeline.joinNextBatch(checkpointInput(core))
      await waitUntilSettled()
      expect(await factsOf(core)).toEqual([])
      await core.pipeline.request(noteRequest(core, A, 'one'))
      expect(await factsOf(core)).toEqual(['checkpoint.written', 'process.note'])
    }))

  test('that cannot be written only causes a warning', () =>
    withWorkingProcesses(async (core) => {
      core.store.fault = ({ facts }) =>
        facts.some(({ body }) => body.type === 'checkpoint.written') ? new KernelError('DISK_FULL', 'no') : null
      core.pipeline.joinNextBatch(checkpointInput(core))
      await core.pipeline.request(noteRequest(core, A, 'one'))
      await waitUntilSettled()
      expect([await factsOf(core), core.writeFailures.currentError, statusIn(core, A)]).toEqual([
        ['process.note', 'checkpoint.failed'],
        null,
        'working',
      ])
      expect(core.table.get(A)?.note).toBe('checkpoint failed: no')
    }))
})
