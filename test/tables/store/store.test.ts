// The guarantees of a store on a real file: commits, rows, pages of facts and references.
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { FactBody } from '../../../src/kernel/model/facts.ts'
import { BLOCK_FACTS } from '../../../src/store/journal/fact-index.ts'
import { MAX_PAGE_ROWS } from '../../../src/store/rows/page-limit.ts'
import { LOAD_ROWS } from '../../../src/store/rows/process-row.ts'
import { CommitMaker, endFacts, modelFinished, specOf, uuidOf } from '../../support/store/facts.ts'
import { changeStoreFile, openTestStore } from '../../support/store/test-store.ts'

const A = uuidOf(1)
const B = uuidOf(2)
const makeNote = (text: string): FactBody => ({ type: 'process.note', text })
const makeOutput = (text: string): FactBody => ({ type: 'process.output', stream: 'stdout', text })

describe('a commit', () => {
  test('is durable when its promise resolves, and is read at the next start', async () => {
    await using fixture = await openTestStore()
    const commits = new CommitMaker()
    const commit = commits.spawn(A)
    await fixture.store.commit(commit)
    for (const openStore of [async () => fixture.store, fixture.reopen]) {
      const store = await openStore()
      expect(await store.facts(A, 0, 10)).toStrictEqual(commit.facts)
      expect(await store.process(A)).toStrictEqual(commits.get(A))
      expect(await store.load()).toStrictEqual({ counters: commit.counters, processes: [commits.get(A)] })
    }
  })

  test('may have facts of 50 processes', async () => {
    await using fixture = await openTestStore()
    const commits = new CommitMaker()
    const uuids = Array.from({ length: 50 }, (_, index) => uuidOf(index + 1))
    for (const uuid of uuids) await fixture.store.commit(commits.spawn(uuid))
    const group = commits.group(uuids.flatMap((uuid) => modelFinished(1, 'text').map((body) => [uuid, body] as const)))
    await fixture.store.commit(group)
    expect(await fixture.store.since({ afterCursor: 100, limit: 200 })).toStrictEqual(group.facts)
    expect((await fixture.store.load()).processes).toStrictEqual(uuids.map((uuid) => commits.get(uuid)))
  })

  test('without facts changes a row, and an empty one writes nothing', async () => {
    await using fixture = await openTestStore()
    const commits = new CommitMaker()
    await fixture.store.commit(commits.spawn(A))
    const pinned = { ...commits.get(A), pinned: true }
    await fixture.store.commit({ facts: [], processes: [pinned], lastPid: 1 })
    expect(await (await fixture.reopen()).process(A)).toStrictEqual(pinned)
    const before = statSync(join(fixture.dir, 'store.db-wal')).size
    await fixture.store.commit({ facts: [], processes: [], lastPid: 1 })
    expect(statSync(join(fixture.dir, 'store.db-wal')).size).toBe(before)
  })

  test('gives its facts the cursors after all earlier ones, and returns them', async () => {
    await using fixture = await openTestStore()
    const commits = new CommitMaker()
    const cursors: number[] = []
    for (const commit of [commits.spawn(A), commits.spawn(B), commits.write(A, makeNote('one'), makeNote('two'))]) {
      // A given cursor means nothing: the facts of a decision have none.
      const facts = await fixture.store.commit({ ...commit, facts: commit.facts.map((fact) => ({ ...fact, cursor: 1 })) })
      expect(facts).toStrictEqual(commit.facts)
      cursors.push(...facts.map(({ cursor }) => cursor))
    }
    expect(cursors).toEqual([1, 2, 3, 4, 5, 6])
    expect(await fixture.store.since({ afterCursor: 0, limit: 10 })).toMatchObject(cursors.map((cursor) => ({ cursor })))
  })

  test('never lowers the PID counter, and raises it without a fact', async () => {
    await using fixture = await openTestStore()
    const commits = new CommitMaker()
    await fixture.store.commit({ ...commits.spawn(A), lastPid: 7 })
    await fixture.store.commit({ facts: [], processes: [], lastPid: 3 })
    expect((await (await fixture.reopen()).load()).counters).toEqual({ pid: 7, cursor: 2 })
    await fixture.store.commit({ facts: [], processes: [], lastPid: 9 })
    expect((await (await fixture.reopen()).load()).counters).toEqual({ pid: 9, cursor: 2 })
  })

  test('keeps the cursor above a journal whose end was removed', async () => {
    await using fixture = await openTestStore()
    await fixture.store.commit(new CommitMaker().spawn(A))
    await fixture.tamper('DELETE FROM journal WHERE cursor > ?', 1)
    expect((await fixture.store.load()).counters.cursor).toBe(2)
  })
})

describe('rows', () => {
  test('of zombies are loaded, and those of dead processes are not', async () => {
    await using fixture = await openTestStore()
    const commits = new CommitMaker()
    await fixture.store.commit(commits.spawn(A, specOf(), ...endFacts()))
    await fixture.store.commit(commits.spawn(B, specOf(), ...endFacts().slice(0, 1)))
    expect((await fixture.store.load()).processes.map(({ uuid }) => uuid)).toEqual([B])
    expect(await fixture.store.process(A)).toStrictEqual(commits.get(A))
    expect(await fixture.store.process(uuidOf(9))).toBeUndefined()
  })

  test('that are out of date during steps are exact for every reader', async () => {
    await using fixture = await openTestStore()
    const commits = new CommitMaker()
    await fixture.store.commit(commits.spawn(A))
    await fixture.store.commit(commits.write(A, ...modelFinished(1, 'one')))
    expect(await fixture.store.process(A)).toStrictEqual(commits.get(A))
    expect((await fixture.store.load()).processes).toStrictEqual([commits.get(A)])
    expect(await fixture.store.facts(A, 2, 10)).toHaveLength(2)
    expect(await fixture.store.tail(A, 1)).toMatchObject([{ seq: 4 }])
    expect(await fixture.store.since({ afterCursor: 2, limit: 10, uuid: A })).toHaveLength(2)
    expect(await fixture.store.verify()).toEqual([])
    expect((await (await fixture.reopen()).load()).processes).toStrictEqual([commits.get(A)])
  })

  test('take the spec from its fact, also from a later one', async () => {
    await using fixture = await openTestStore()
    const commits = new CommitMaker()
    await fixture.store.commit(commits.spawn(A, specOf({ intent: 'first' }), ...endFacts()))
    await fixture.store.commit(
      commits.write(A, { type: 'process.resumed', pid: 1, by: 'user', spec: specOf({ intent: 'second', name: 'again' }), fromStep: 0 }),
    )
    expect((await (await fixture.reopen()).process(A))?.spec).toStrictEqual(specOf({ intent: 'second', name: 'again' }))
    expect(await fixture.store.find('again')).toEqual([A])
    await fixture.close()
    expect(changeStoreFile(fixture.dir, (db) => String(db.prepare('SELECT body FROM processes').get()?.['body']))).not.toContain('second')
  })

  test('are loaded in pages, each once and in order', async () => {
    await using fixture = await openTestStore()
    const commits = new CommitMaker()
    const uuids = Array.from({ length: LOAD_ROWS + 1 }, (_, index) => uuidOf(index + 1))
    commits.pid = uuids.length
    await fixture.store.commit(
      commits.group(
        uuids.map(
          (uuid, index) =>
            [uuid, { type: 'process.spawned', pid: index + 1, spec: specOf(), parentUuid: null, depth: 0, by: 'user' }] as const,
        ),
      ),
    )
    const firstPage = await fixture.store.load()
    const secondPage = await fixture.store.load(firstPage.next)
    expect([firstPage.processes.length, secondPage.processes.length, secondPage.next]).toEqual([LOAD_ROWS, 1, undefined])
    expect([...firstPage.processes, ...secondPage.processes].map(({ uuid }) => uuid)).toEqual(uuids)
    expect(secondPage.counters).toEqual(firstPage.counters)
  })

  test('of one agent share equal values', async () => {
    await using fixture = await openTestStore()
    const commits = new CommitMaker()
    for (const uuid of [A, B]) await fixture.store.commit(commits.spawn(uuid, specOf({ env: { LANG: 'C' } })))
    const [first, second] = (await fixture.store.load()).processes
    expect(first?.spec.env).toBe(second?.spec.env)
  })
})

describe('facts in pages', () => {
  /** Opens a store with two processes, whose facts alternate and fill more than three blocks. */
  async function newHistory() {
    const fixture = await openTestStore()
    const commits = new CommitMaker()
    for (const uuid of [A, B]) await fixture.store.commit(commits.spawn(uuid))
    const count = BLOCK_FACTS * 3 + 10
    for (let number = 1; number <= count; number++) {
      await fixture.store.commit(
        commits.group([
          [A, makeOutput(`a${number}`)],
          [B, number % 50 === 0 ? makeNote(`b${number}`) : makeOutput(`b${number}`)],
        ]),
      )
    }
    return { fixture, total: count + 2 }
  }

  test('each way of reading returns each fact once and in order', async () => {
    const { fixture, total } = await newHistory()
    await using _ = fixture
    const readSeqs = async (limit: number) => {
      const found: number[] = []
      for (
        let page = await fixture.store.facts(A, 0, limit);
        page.length > 0;
        page = await fixture.store.facts(A, found.at(-1) ?? 0, limit)
      )
        found.push(...page.map(({ seq }) => seq))
      return found
    }
    const expectedSeqs = Array.from({ length: total }, (_, index) => index + 1)
    for (const limit of [1, BLOCK_FACTS - 1, BLOCK_FACTS, BLOCK_FACTS + 1, total, total + 1])
      expect(await readSeqs(limit)).toEqual(expectedSeqs)
    const stream = await fixture.store.since({ afterCursor: 0, limit: MAX_PAGE_ROWS })
    expect(stream.map(({ cursor }) => cursor)).toEqual(Array.from({ length: 2 * total }, (_, index) => index + 1))
    expect(stream.filter(({ uuid }) => uuid === A)).toStrictEqual(await fixture.store.facts(A, 0, total))
    for (const after of [0, 1, 2, 5, 130, 131, 2 * total - 1, 2 * total]) {
      expect(await fixture.store.since({ afterCursor: after, limit: 7, uuid: B })).toStrictEqual(
        stream.filter(({ uuid, cursor }) => uuid === B && cursor > after).slice(0, 7),
      )
    }
  })

  test('a tail is the last facts in order, of all types or of some', async () => {
    const { fixture, total } = await newHistory()
    await using _ = fixture
    const allFacts = await fixture.store.facts(B, 0, total)
    for (const limit of [0, 1, BLOCK_FACTS, total, total + 1])
      expect(await fixture.store.tail(B, limit)).toStrictEqual(limit === 0 ? [] : allFacts.slice(-limit))
    const notes = allFacts.filter(({ body }) => body.type === 'process.note')
    expect(notes).toHaveLength(4)
    for (const limit of [1, 3, 100])
      expect(await fixture.store.tail(B, limit, ['process.note', 'no.such.type'])).toStrictEqual(notes.slice(-limit))
    expect(await fixture.store.tail(B, 5, [])).toEqual([])
    for (const before of [1, 2, BLOCK_FACTS, BLOCK_FACTS + 1, BLOCK_FACTS + 2, total, total + 1, total + 9]) {
      expect(await fixture.store.tail(B, 5, undefined, before)).toStrictEqual(allFacts.filter(({ seq }) => seq < before).slice(-5))
      expect(await fixture.store.tail(B, 2, ['process.note'], before)).toStrictEqual(notes.filter(({ seq }) => seq < before).slice(-2))
    }
  })

  test('of an unknown process are empty, and a page has a limit', async () => {
    await using fixture = await openTestStore()
    expect(await fixture.store.facts(A, 0, 10)).toEqual([])
    expect(await fixture.store.tail(A, 10)).toEqual([])
    expect(await fixture.store.since({ afterCursor: 0, limit: 10, uuid: A })).toEqual([])
    expect(await fixture.store.since({ afterCursor: 0, limit: 10 })).toEqual([])
    await fixture.store.commit(new CommitMaker().spawn(A))
    await expect(fixture.store.facts(A, 0, MAX_PAGE_ROWS + 1)).rejects.toMatchObject({ code: 'INTERNAL' })
    await expect(fixture.store.since({ afterCursor: 0, limit: -1 })).rejects.toMatchObject({ code: 'INTERNAL' })
  })
})

describe('dead processes', () => {
  test('are listed in pages, newest first; processes that ended at the same time are sorted by their UUID', async () => {
    await using fixture = await openTestStore()
    const commits = new CommitMaker()
    for (let number = 1; number <= 6; number++) await fixture.store.commit(commits.spawn(uuidOf(number)))
    const endCommits = [1, 2, 3, 4, 5].map((number) => commits.write(uuidOf(number), ...endFacts()))
    const simultaneousEnds = endCommits.map((commit, index) => ({
      ...commit,
      processes: commit.processes.map((process) => ({
        ...process,
        clock: { ...process.clock, exitedAt: [30, 10, 20, 20, 40][index] ?? 0 },
      })),
    }))
    for (const commit of simultaneousEnds) await fixture.store.commit(commit)
    const listUuids = async (limit: number) => {
      const found: string[] = []
      let page = await fixture.store.dead({ limit })
      while (page.length > 0) {
        found.push(...page.map(({ uuid }) => uuid))
        const lastProcess = page.at(-1)
        page = await fixture.store.dead({ limit, before: { exitedAt: lastProcess?.clock.exitedAt ?? 0, uuid: lastProcess?.uuid ?? '' } })
      }
      return found
    }
    for (const limit of [1, 2, 5, 10]) expect(await listUuids(limit)).toEqual([5, 1, 4, 3, 2].map(uuidOf))
  })
})

describe('a reference', () => {
  async function openNamedProcesses() {
    const fixture = await openTestStore()
    const commits = new CommitMaker()
    const uuids = [
      '0192f3a4-1111-7abc-8def-00000000aaaa',
      '0192f3a4-2222-7abc-8def-00000001bbbb',
      '0192f3a4-3333-7abc-8def-00000002bbbb',
      '7777f3a4-3333-7abc-8def-000000000002',
    ]
    for (const [index, uuid] of uuids.entries())
      await fixture.store.commit(
        commits.spawn(uuid, specOf({ name: index === 0 ? null : index < 3 ? 'twin' : 'bbbb' }), ...(index === 1 ? endFacts() : [])),
      )
    return { fixture, uuids }
  }

  test.each<[string, string, number[]]>([
    ['a PID', '1', [0]],
    ['a PID that is also the end of a UUID', '0002', [1]],
    ['an unknown PID', '99', []],
    ['a name, newest first, also of the dead', 'twin', [2, 1]],
    ['a name before the end of a UUID', 'bbbb', [3]],
    ['a whole UUID', '0192f3a4-2222-7abc-8def-00000001bbbb', [1]],
    ['a prefix', '0192f3a4-1', [0]],
    ['a prefix without its dashes and in capitals', '0192F3A42222', [1]],
    ['a prefix of several', '0192f', [0, 1, 2]],
    ['digits alone, which are a PID', '0192', []],
    ['a suffix', '2bbbb', [2]],
    ['a suffix across a dash', 'f-00000000aaaa', [0]],
    ['a suffix of several', '00bbbb', []],
    ['a part of fewer than four digits', 'aaa', []],
    ['a part that is not a hexadecimal number', '0192g', []],
    ['too many digits', '0'.repeat(33), []],
    ['nothing', '', []],
    ['text that means something to SQL', "%' OR 1", []],
  ])('is resolved: %s (%s)', async (_, ref, found) => {
    const { fixture, uuids } = await openNamedProcesses()
    await using _disposed = fixture
    expect(await fixture.store.find(ref)).toEqual(found.map((index) => uuids[index]))
  })

  test('resolves to at most 20 processes', async () => {
    await using fixture = await openTestStore()
    const commits = new CommitMaker()
    for (let number = 1; number <= 25; number++) await fixture.store.commit(commits.spawn(uuidOf(number)))
    expect(await fixture.store.find('id:0192')).toHaveLength(20)
  })
})
