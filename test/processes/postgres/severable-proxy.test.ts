// The proxy of the tests: which requests the server gets when it breaks a connection, and which answers the client gets.
import { expect, test } from 'vitest'
import { describePostgres } from '../../support/postgres/describe-postgres.ts'
import { SeverableProxy } from '../../support/postgres/severable-proxy.ts'
import { SqlSession } from '../../support/postgres/sql-session.ts'
import { waitUntil } from '../../support/wait-until.ts'

const LOST = /closed the connection|connection is closed|ECONNRESET|EPIPE/

describePostgres('a proxy', {}, (suite) => {
  async function openTable() {
    const url = await suite.server.createDatabase()
    await suite.server.query('create table t (a int)', url)
    const proxy = await SeverableProxy.start(suite.server)
    const session = await SqlSession.connect(new URL(proxy.redirect(url)))
    return {
      proxy,
      session,
      connectAgain: () => SqlSession.connect(new URL(proxy.redirect(url))),
      rows: async () => (await suite.server.query('select a from t order by a', url)).map(({ a }) => Number(a)),
      [Symbol.asyncDispose]: async () => {
        await session[Symbol.asyncDispose]()
        await proxy[Symbol.asyncDispose]()
      },
    }
  }

  test('that cuts before a request: the server does not get it, and a new connection works', async () => {
    await using table = await openTable()
    await table.session.query('insert into t values (1)')
    const cut = table.proxy.cutBeforeRequest()
    await expect(table.session.query('insert into t values (2)')).rejects.toThrow(LOST)
    await cut
    await using again = await table.connectAgain()
    await again.query('insert into t values (3)')
    expect(await table.rows()).toEqual([1, 3])
  })

  test('that cuts after a request: the server commits it, and the client gets no answer', async () => {
    await using table = await openTable()
    const cut = table.proxy.cutAfterRequest({ matching: (request) => request.includes('(2)'), thenRefuse: true })
    await table.session.query('insert into t values (1)')
    await expect(table.session.query('insert into t values (2)')).rejects.toThrow(LOST)
    await cut
    expect(await table.rows()).toEqual([1, 2])
    await expect(table.connectAgain()).rejects.toThrow(LOST)
    table.proxy.resume()
    await using again = await table.connectAgain()
    expect(await again.query('select count(*) as number from t')).toEqual([{ number: '2' }])
  })

  test('that stalls passes nothing on until it resumes', async () => {
    await using table = await openTable()
    table.proxy.stall()
    const insert = table.session.query('insert into t values (1)')
    expect(await table.rows()).toEqual([])
    table.proxy.resume()
    await insert
    expect(await table.rows()).toEqual([1])
  })

  test('that cuts breaks every connection', async () => {
    await using table = await openTable()
    await using other = await table.connectAgain()
    expect(table.proxy.connections).toBe(2)
    table.proxy.cut()
    await expect(table.session.query('select 1')).rejects.toThrow(LOST)
    await expect(other.query('select 1')).rejects.toThrow(LOST)
    await waitUntil(() => table.proxy.connections === 0)
  })

  test('that has another target connects to it from then on', async () => {
    await using table = await openTable()
    await using proxy = await SeverableProxy.start({ port: 1 })
    await expect(SqlSession.connect(new URL(proxy.redirect(suite.server.urlOf('postgres'))))).rejects.toThrow(LOST)
    proxy.retarget({ port: table.proxy.port })
    await using session = await SqlSession.connect(new URL(proxy.redirect(suite.server.urlOf('postgres'))))
    expect(await session.query('select 1 as it')).toEqual([{ it: '1' }])
  })
})
