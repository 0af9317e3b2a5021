// Writes whose end is unknown, and writers that lost the store, with a real server and a proxy between them.
import { expect, test } from 'vitest'
import { openPostgresStore, type PostgresStore } from '../../../src/store/postgres/postgres.ts'
import { describePostgres } from '../../support/postgres/describe-postgres.ts'
import { SeverableProxy } from '../../support/postgres/severable-proxy.ts'
import { CommitMaker, endFacts, modelFinished, specOf, uuidOf } from '../../support/store/facts.ts'

const A = uuidOf(1)
const B = uuidOf(2)

const openStore = (url: string): Promise<PostgresStore> => openPostgresStore({ url, durability: 'single' })

describePostgres('a store in a database', {}, (suite) => {
  const countFacts = async (url: string): Promise<number> =>
    Number((await suite.server.query('SELECT count(*) AS n FROM reeve.fact', url))[0]?.['n'])

  test.each(['before', 'after'] as const)('commits once when the connection breaks %s the server has the commit', async (place) => {
    const url = await suite.server.createDatabase()
    await using proxy = await SeverableProxy.start(suite.server)
    await using store = await openStore(proxy.redirect(url))
    const commits = new CommitMaker()
    await store.commit(commits.spawn(A))
    for (let step = 1; step <= 5; step++) {
      const cut = place === 'before' ? proxy.cutBeforeRequest() : proxy.cutAfterRequest()
      const commit = commits.write(A, ...modelFinished(step, 'text'))
      expect(await store.commit(commit)).toStrictEqual(commit.facts)
      await cut
    }
    expect(await countFacts(url)).toBe(12)
    expect(await store.facts(A, 0, 100)).toHaveLength(12)
    expect(await store.verify()).toEqual([])
  })

  test('waits for a server that is away in the middle of a commit, and refuses commits that were not sent', async () => {
    const url = await suite.server.createDatabase()
    await using proxy = await SeverableProxy.start(suite.server)
    await using store = await openStore(proxy.redirect(url))
    const commits = new CommitMaker()
    await store.commit(commits.spawn(A))
    const cut = proxy.cutAfterRequest({ thenRefuse: true })
    const commit = commits.write(A, ...modelFinished(1, 'text'))
    const committed = store.commit(commit)
    await cut
    expect(await countFacts(url)).toBe(4)
    proxy.resume()
    expect(await committed).toStrictEqual(commit.facts)
    proxy.cut()
    // The read shows that the loss of the connections is known.
    await expect(store.dead({ limit: 1 })).rejects.toMatchObject({ code: 'STORE_UNREACHABLE' })
    const next = commits.write(A, ...modelFinished(2, 'text'))
    await expect(store.commit(next)).rejects.toMatchObject({ code: 'STORE_UNREACHABLE' })
    proxy.resume()
    expect(await store.commit(next)).toStrictEqual(next.facts)
  })

  test('is fenced when another writer takes over, and writes nothing more', async () => {
    const url = await suite.server.createDatabase()
    await using first = await openStore(url)
    const commits = new CommitMaker()
    await first.commit(commits.spawn(A))
    await first.commit(commits.write(A, ...modelFinished(1, 'late row')))
    await using second = await openStore(url)
    expect((await second.load()).processes).toStrictEqual([commits.get(A)])
    await second.commit(commits.spawn(B))
    const late = commits.spawn(uuidOf(3))
    for (let attempt = 0; attempt < 2; attempt++) await expect(first.commit(late)).rejects.toMatchObject({ code: 'FENCED' })
    await expect(first.remove(A, 1)).rejects.toMatchObject({ code: 'FENCED' })
    expect(await countFacts(url)).toBe(6)
  })

  test('is fenced when another writer takes over while the end of a commit is unknown', async () => {
    const url = await suite.server.createDatabase()
    await using proxy = await SeverableProxy.start(suite.server)
    await using first = await openStore(proxy.redirect(url))
    const commits = new CommitMaker()
    await first.commit(commits.spawn(A))
    const cut = proxy.cutBeforeRequest({ thenRefuse: true })
    const end = first.commit(commits.write(A, ...modelFinished(1, 'text'))).catch((error: unknown) => error)
    await cut
    await using _second = await openStore(url)
    proxy.resume()
    expect(await end).toMatchObject({ code: 'FENCED' })
    expect(await countFacts(url)).toBe(2)
  })

  test.each([
    ['lost the last write', 'UPDATE reeve.shard SET head = head - 1'],
    ['lost the take-over', 'UPDATE reeve.shard SET inc = inc - 1'],
    ['lost its row', 'DELETE FROM reeve.shard'],
  ])('ends when the database %s', async (_, sql) => {
    const url = await suite.server.createDatabase()
    await using store = await openStore(url)
    const commits = new CommitMaker()
    await store.commit(commits.spawn(A))
    await suite.server.query(sql, url)
    const late = commits.spawn(B)
    for (let attempt = 0; attempt < 2; attempt++) await expect(store.commit(late)).rejects.toMatchObject({ code: 'STORE_REGRESSED' })
    expect(await countFacts(url)).toBe(2)
  })

  test('continues after a crash of the server', async () => {
    const url = await suite.server.createDatabase()
    await using store = await openStore(url)
    const commits = new CommitMaker()
    await store.commit(commits.spawn(A))
    await suite.server.stop('immediate')
    await expect(store.commit(commits.spawn(B))).rejects.toMatchObject({ code: 'STORE_UNREACHABLE' })
    await suite.server.start()
    await store.commit(new CommitMaker({ pid: 1, cursor: 2 }).spawn(B))
    expect(await store.find(A)).toEqual([A])
  })

  test('has no two living processes of one name; a name is free with the end of its process', async () => {
    const url = await suite.server.createDatabase()
    await using store = await openStore(url)
    const commits = new CommitMaker()
    await store.commit(commits.spawn(A, specOf({ name: 'ann' })))
    const other = new CommitMaker({ pid: 1, cursor: 2 }).spawn(B, specOf({ name: 'ann' }))
    await expect(store.commit(other)).rejects.toMatchObject({ code: 'CONFLICT' })
    expect(await store.process(B)).toBeUndefined()
    const ended = commits.write(A, ...endFacts())
    const heir = new CommitMaker({ pid: 1, cursor: ended.counters.cursor }).spawn(B, specOf({ name: 'ann' }))
    await store.commit({
      facts: [...ended.facts, ...heir.facts],
      processes: [...heir.processes, ...ended.processes],
      lastPid: heir.lastPid,
    })
    expect(await store.find('ann')).toEqual([B, A])
  })
})
