// Opening a store in a database: refusals, versions, and the password of its URL.
import { inspect } from 'node:util'
import { expect, test } from 'vitest'
import { openPostgresStore } from '../../../src/store/postgres/postgres.ts'
import { describePostgres } from '../../support/postgres/describe-postgres.ts'
import { CommitMaker, uuidOf } from '../../support/store/facts.ts'

const A = uuidOf(1)

describePostgres('the opening of a store in a database', {}, (suite) => {
  const withPassword = (url: string): string => Object.assign(new URL(url), { password: 'not/the@word' }).href

  test('refuses a newer schema, and leaves the store to its daemon', async () => {
    const url = await suite.server.createDatabase()
    await using store = await openPostgresStore({ url, durability: 'single' })
    await store.commit(new CommitMaker().spawn(A))
    await suite.server.query('UPDATE reeve.shard SET version = version + 1', url)
    await expect(openPostgresStore({ url, durability: 'single' })).rejects.toMatchObject({ code: 'STORE_NEWER' })
    await store.remove(uuidOf(9), 1)
    await store.setNotifiedUpTo('desktop', 2)
    expect(await store.notifiedUpTo('desktop')).toBe(2)
  })

  test('refuses a server without a synchronous standby unless that is written down', async () => {
    const url = await suite.server.createDatabase()
    await expect(openPostgresStore({ url })).rejects.toMatchObject({ code: 'STORE_UNSUITABLE', hint: expect.stringContaining('single') })
  })

  test('of two daemons at once, one gets the store', async () => {
    const url = await suite.server.createDatabase()
    const stores = await Promise.all([1, 2, 3].map(() => openPostgresStore({ url, durability: 'single' })))
    const ends = await Promise.allSettled(stores.map((store) => store.commit(new CommitMaker().spawn(A))))
    expect(ends.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
    for (const store of stores) await store[Symbol.asyncDispose]()
  })

  test.each([
    ['a server that is away', (url: string) => withPassword(url).replace(/:\d+\//, ':1/'), 'STORE_UNREACHABLE'],
    ['a database that does not exist', (url: string) => url.replace(/\w+$/, 'nothing'), 'STORE_UNREACHABLE'],
    ['a URL of another protocol', (url: string) => withPassword(url).replace('postgres:', 'mysql:'), 'INVALID'],
    ['a broken URL', () => 'postgres://reeve:not/the@word@[', 'INVALID'],
  ])('names no password for %s', async (_, change, code) => {
    const url = await suite.server.createDatabase()
    const error: unknown = await openPostgresStore({ url: change(url), durability: 'single' }).catch((cause: unknown) => cause)
    expect(error).toMatchObject({ code })
    for (const secret of ['the@word', 'the%40word', new URL(url).password]) expect(inspect(error, { depth: 9 })).not.toContain(secret)
  })

  test('reports the server and the time of a commit', async () => {
    const url = await suite.server.createDatabase()
    await using store = await openPostgresStore({ url, durability: 'single' })
    const report = await store.report()
    expect(report).toMatchObject({ durability: 'single', address: new URL(url).host + new URL(url).pathname })
    expect(report.commitMs).toBeGreaterThan(0)
  })

  test.each([
    ['a fact', 'UPDATE reeve.fact SET at = at + 1 WHERE seq = 2', /journal/],
    ['a missing fact', 'DELETE FROM reeve.fact WHERE seq = 2', /the fact is missing/],
    ['a row', 'UPDATE reeve.process SET pid = pid + 1', /processes/],
    ['a long text', "UPDATE reeve.blob SET bytes = ''", /blobs/],
    ['a count of references', 'UPDATE reeve.blob SET refs = refs + 1', /wrong count/],
    [
      'facts of nobody',
      'INSERT INTO reeve.fact SELECT 99, seq, cursor + 99, pid, at, type, sum, step, body FROM reeve.fact',
      /belong to no process/,
    ],
  ])('damage is found: %s', async (_, sql, finding) => {
    const url = await suite.server.createDatabase()
    await using store = await openPostgresStore({ url, durability: 'single' })
    const commits = new CommitMaker()
    await store.commit(commits.spawn(A))
    await store.commit(commits.write(A, { type: 'process.note', text: 'long '.repeat(3_000) }))
    expect(await store.verify()).toEqual([])
    await suite.server.query(sql, url)
    expect((await store.verify()).join('\n')).toMatch(finding)
  })
})
