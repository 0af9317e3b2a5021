// The PostgreSQL servers of the tests: what they keep over a crash and a promotion, and that nothing of them is left.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { ROOT, testEnv } from '../../support/env.ts'
import { findProcessesIn } from '../../support/living-processes.ts'
import { describePostgres } from '../../support/postgres/describe-postgres.ts'
import { availablePostgres } from '../../support/postgres/programs.ts'
import { startPostgres } from '../../support/postgres/server.ts'
import { SqlError, SqlSession } from '../../support/postgres/sql-session.ts'
import { tempDir } from '../../support/tmp.ts'
import { waitUntil } from '../../support/wait-until.ts'

/** how a client sees the end of its server */
const LOST = /closed the connection|connection is closed|ECONNRESET|EPIPE|terminating connection/

describePostgres('a server', {}, (suite) => {
  test('gives each test a database of its own', async () => {
    const [one, other] = [await suite.server.createDatabase(), await suite.server.createDatabase()]
    await suite.server.query("create table t (a int, b text); insert into t values (1, null), (2, 'ü')", one)
    expect(await suite.server.query('select * from t order by a', one)).toEqual([
      { a: '1', b: null },
      { a: '2', b: 'ü' },
    ])
    await expect(suite.server.query('select * from t', other)).rejects.toMatchObject({ state: '42P01' })
  })

  test('asks for a password by TCP', async () => {
    const url = new URL(await suite.server.createDatabase())
    await using session = await SqlSession.connect(url)
    expect(await session.query('select current_user as who')).toEqual([{ who: 'reeve' }])
    await expect(SqlSession.connect(Object.assign(url, { password: 'wrong' }))).rejects.toThrow(SqlError)
  })

  test('keeps acknowledged rows over kill -9, and its port', async () => {
    const url = await suite.server.createDatabase()
    await using session = await SqlSession.connect(new URL(url))
    await session.query('create table t (a int); insert into t values (1)')
    await suite.server.crash()
    await expect(session.query('select 1')).rejects.toThrow(LOST)
    expect(findProcessesIn(suite.server.data)).toEqual([])
    await suite.server.start()
    expect(await suite.server.query('select a from t', url)).toEqual([{ a: '1' }])
    await suite.server.stop('fast')
    await suite.server.start()
    await suite.server.stop('immediate')
    await suite.server.start()
    expect(await suite.server.query('select a from t', url)).toEqual([{ a: '1' }])
  })

  test('answers nothing while it is paused', async () => {
    await using session = await SqlSession.connect(new URL(await suite.server.createDatabase()))
    await suite.server.pause()
    let isAnswered = false
    const answer = session.query('select 1 as it').finally(() => {
      isAnswered = true
    })
    expect(new Set(findProcessesIn(suite.server.data).map(({ state }) => state))).toEqual(new Set(['T']))
    expect(isAnswered).toBe(false)
    suite.server.unpause()
    expect(await answer).toEqual([{ it: '1' }])
  })
})

describe.runIf(availablePostgres().length > 0).each(availablePostgres())('a standby of PostgreSQL $version', (program) => {
  test('that is synchronous has every acknowledged row when it is promoted', async () => {
    await using primary = await startPostgres(program, { standby: 'synchronous' })
    const url = await primary.createDatabase()
    await primary.query('create table t (a int)', url)
    const acknowledged: number[] = []
    const writer = (async () => {
      await using session = await SqlSession.connect(new URL(url))
      for (let next = 1; ; next += 1) {
        await session.query(`insert into t values (${next})`)
        acknowledged.push(next)
      }
    })()
    await waitUntil(() => acknowledged.length > 100, 'a hundred rows')
    await Promise.all([primary.crash(), expect(writer).rejects.toThrow(LOST)])
    const promoted = await primary.promoteStandby()
    const kept = await promoted.query('select a from t order by a', promoted.redirect(url))
    expect(kept.map(({ a }) => Number(a)).slice(0, acknowledged.length)).toEqual(acknowledged)
    expect(kept.length - acknowledged.length).toBeLessThanOrEqual(1)
    await promoted.query('insert into t values (0)', promoted.redirect(url))
  })

  test('that is asynchronous lacks rows which it could not receive', async () => {
    await using primary = await startPostgres(program, { standby: 'asynchronous' })
    const url = await primary.createDatabase()
    await primary.query('create table t (a int); insert into t values (1)', url)
    const { standby } = primary
    if (standby === null) throw new Error('there is no standby')
    await waitUntil(async () => (await standby.query("select 1 from pg_database where datname = 'test_1'")).length === 1)
    await waitUntil(async () => (await standby.query("select 1 from pg_class where relname = 't'", url)).length === 1)
    await waitUntil(async () => (await standby.query('select a from t', url)).length === 1)
    await standby.stop('fast')
    await primary.query('insert into t values (2)', url)
    await primary.crash()
    await standby.start()
    const promoted = await primary.promoteStandby()
    expect(await promoted.query('select a from t', promoted.redirect(url))).toEqual([{ a: '1' }])
  })
})

const [newest] = availablePostgres().toReversed()

describe.runIf(newest !== undefined)('what is left of a server', () => {
  const HOLDER = `
    import { startPostgres } from '${join(ROOT, 'test/support/postgres/server.ts')}'
    import { availablePostgres } from '${join(ROOT, 'test/support/postgres/programs.ts')}'
    const server = await startPostgres(availablePostgres().at(-1), { standby: 'synchronous' })
    console.log(JSON.stringify([server.data, server.standby.data]))
    setInterval(() => {}, 60_000)`

  test('is nothing after a crash and its disposal', async () => {
    if (newest === undefined) return
    const server = await startPostgres(newest)
    await server.crash()
    await server[Symbol.asyncDispose]()
    expect(findProcessesIn(server.data)).toEqual([])
    expect(existsSync(server.data)).toBe(false)
  })

  test('is nothing after the process of the test was killed', async () => {
    await using home = await tempDir()
    const room = process.env['REEVE_TEST_ROOM'] ?? ''
    const child = spawn(process.execPath, ['--input-type=module-typescript', '-e', HOLDER], {
      env: testEnv(home.path, { ...(room === '' ? {} : { REEVE_TEST_ROOM: room }), REEVE_POSTGRES: process.env['REEVE_POSTGRES'] ?? '' }),
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const ended = once(child, 'exit').then(() => 'the program ended before its servers ran')
    const line = await Promise.race([once(createInterface(child.stdout), 'line').then(([text]) => text as string), ended])
    const folders = JSON.parse(line) as string[]
    expect(folders.map((folder) => findProcessesIn(folder).length > 0)).toEqual([true, true])
    child.kill('SIGKILL')
    await waitUntil(() => folders.every((folder) => findProcessesIn(folder).length === 0 && !existsSync(folder)), 'nothing is left')
  })
})
