// The standby becomes the primary while a store is open: a synchronous one has all that was acknowledged, and the writer goes on; one that
// is behind stops the writer with STORE_REGRESSED. A commit that the standby does not have is never acknowledged.
import { describe, expect, test } from 'vitest'
import { openPostgresStore, type PostgresStore } from '../../../src/store/postgres/postgres.ts'
import { deep } from '../../support/deep.ts'
import { NumberedWriter, numbersTo, readNumbers } from '../../support/postgres/numbered-writer.ts'
import { availablePostgres, type PostgresProgram } from '../../support/postgres/programs.ts'
import { startPostgres, type PostgresServer } from '../../support/postgres/server.ts'
import { SeverableProxy } from '../../support/postgres/severable-proxy.ts'
import { uuidOf } from '../../support/store/facts.ts'
import { waitUntil } from '../../support/wait-until.ts'

const AGENT = uuidOf(1)
const FAILOVERS = numbersTo(deep(1, 10))

/** A pair of servers, and a writer whose address leads to the primary. */
async function openPair(program: PostgresProgram, kind: 'synchronous' | 'asynchronous') {
  const resources = new AsyncDisposableStack()
  const primary = resources.use(await startPostgres(program, { standby: kind }))
  const { standby } = primary
  if (standby === null) throw new Error('there is no standby')
  const url = await primary.createDatabase()
  const proxy = resources.use(await SeverableProxy.start(primary))
  const store = resources.use(await openPostgresStore({ url: proxy.redirect(url), durability: 'single' }))
  const writer = await NumberedWriter.start(store, AGENT)
  return {
    primary,
    standby,
    proxy,
    url,
    writer,
    /** Waits until the standby has everything. */
    catchUp: () => catchUp(primary),
    /** Kills the primary, and leads the address to the standby. */
    failOver: async (): Promise<PostgresServer> => {
      await primary.crash()
      const promoted = await primary.promoteStandby()
      proxy.retarget(promoted)
      return promoted
    },
    openPromoted: (): Promise<PostgresStore> => openPostgresStore({ url: standby.redirect(url), durability: 'single' }),
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  }
}

async function catchUp(primary: PostgresServer): Promise<void> {
  const [now] = await primary.query('select pg_current_wal_lsn() as it')
  const sql = `select 1 from pg_stat_replication where replay_lsn >= '${String(now?.['it'])}'`
  await waitUntil(async () => (await primary.query(sql)).length === 1, 'the standby has everything')
}

describe.runIf(availablePostgres().length > 0).each(availablePostgres())('a failover of PostgreSQL $version', (program) => {
  test.each(FAILOVERS)('to a synchronous standby under load keeps what was acknowledged (%d)', async () => {
    await using pair = await openPair(program, 'synchronous')
    let isDone = false
    const writing = pair.writer.writeUntil(() => isDone)
    await waitUntil(() => pair.writer.acknowledged > 20, 'some commits')
    await pair.failOver()
    const before = pair.writer.acknowledged
    await waitUntil(() => pair.writer.acknowledged > before + 5, 'the writer goes on')
    isDone = true
    expect(await writing).toBeNull()
    await using successor = await pair.openPromoted()
    expect(await readNumbers(successor, AGENT)).toEqual(numbersTo(pair.writer.acknowledged))
  })

  /** Writes some commits that only the primary has, one of them with a lost answer, and promotes the standby. */
  async function fallBehind(pair: Awaited<ReturnType<typeof openPair>>, losesAnswer: boolean): Promise<void> {
    await pair.writer.writeUntil(() => pair.writer.acknowledged === 3)
    await pair.catchUp()
    await pair.standby.stop('fast')
    if (losesAnswer) await Promise.all([pair.proxy.cutAfterRequest(), pair.writer.write()])
    await pair.writer.writeUntil(() => pair.writer.acknowledged === 5)
    await pair.primary.crash()
    await pair.standby.start()
    pair.proxy.retarget(await pair.primary.promoteStandby())
  }

  test.each([
    ['', false],
    [' and lacks a lost answer', true],
  ])('to a standby that is behind%s ends the writer with STORE_REGRESSED, and it writes nothing', async (_name, losesAnswer) => {
    await using pair = await openPair(program, 'asynchronous')
    await fallBehind(pair, losesAnswer)
    expect(await pair.writer.writeUntil(() => pair.writer.acknowledged === 6)).toMatchObject({ code: 'STORE_REGRESSED' })
    await expect(pair.writer.write()).rejects.toMatchObject({ code: 'STORE_REGRESSED' })
    await using successor = await pair.openPromoted()
    expect(await readNumbers(successor, AGENT)).toEqual([1, 2, 3])
  })

  test('does not lose a commit whose wait for the standby an administrator has cancelled', async () => {
    await using pair = await openPair(program, 'synchronous')
    await pair.writer.write()
    await pair.standby.pause()
    const write = pair.writer.write()
    const waiting = (other = '0') => pair.primary.query(`select pid from pg_stat_activity where wait_event = 'SyncRep' and pid <> ${other}`)
    const pid = await waitUntil(async () => (await waiting())[0]?.['pid'] ?? null, 'the commit waits for the standby')
    await pair.primary.query(`select pg_cancel_backend(${pid})`)
    const waitsAgain = waitUntil(async () => (await waiting(pid)).length > 0, 'the writer waits for the standby again')
    const first = await Promise.race([write.then(() => 'acknowledged'), waitsAgain.then(() => 'waits again')])
    pair.standby.unpause()
    expect(first).toBe('waits again')
    await write
    await pair.failOver()
    await using successor = await pair.openPromoted()
    expect(await readNumbers(successor, AGENT)).toEqual([1, 2])
  })
})
