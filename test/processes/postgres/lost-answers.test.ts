// Connections that break at any moment, and servers that are killed, while a store is written: each commit lands once or not at all, and
// the store knows which. store-ends.test.ts has the single cases.
import { expect, test } from 'vitest'
import { openPostgresStore } from '../../../src/store/postgres/postgres.ts'
import { deep } from '../../support/deep.ts'
import { describePostgres } from '../../support/postgres/describe-postgres.ts'
import { NumberedWriter, numbersTo, readNumbers } from '../../support/postgres/numbered-writer.ts'
import { SeverableProxy } from '../../support/postgres/severable-proxy.ts'
import { seededRandom } from '../../support/random.ts'
import { SEED } from '../../support/seed.ts'
import { uuidOf } from '../../support/store/facts.ts'
import { waitUntil } from '../../support/wait-until.ts'

const AGENT = uuidOf(1)
const COMMITS = deep(25, 300)
const CRASHES = deep(2, 10)

/** A request of the writer that is a commit; its first three parameters are the fence. */
const isCommit = (request: string): boolean => request.includes('commit facts') || request.includes('reeve.fact')

describePostgres('a lost answer', {}, (suite) => {
  async function openWriter() {
    const url = await suite.server.createDatabase()
    const proxy = await SeverableProxy.start(suite.server)
    const store = await openPostgresStore({ url: proxy.redirect(url), durability: 'single' })
    const writer = await NumberedWriter.start(store, AGENT)
    await writer.write()
    return {
      proxy,
      writer,
      store,
      takeOver: () => openPostgresStore({ url, durability: 'single' }),
      [Symbol.asyncDispose]: async () => {
        await store[Symbol.asyncDispose]()
        await proxy[Symbol.asyncDispose]()
      },
    }
  }

  test(`of any request, the questions about lost answers included: ${COMMITS} commits land once`, async () => {
    await using opened = await openWriter()
    const random = seededRandom(SEED)
    let cuts = 0
    let isDone = false
    const planCuts = async (): Promise<void> => {
      while (!isDone) {
        const skipped = Math.floor(random() * 4)
        let seen = 0
        const matching = (): boolean => seen++ >= skipped
        await (random() < 0.5 ? opened.proxy.cutBeforeRequest({ matching }) : opened.proxy.cutAfterRequest({ matching }))
        cuts += 1
      }
    }
    let isCutting = true
    const cutting = planCuts().finally(() => {
      isCutting = false
    })
    // The last planned cut needs requests.
    while (isCutting) {
      await opened.writer.write()
      isDone ||= opened.writer.acknowledged >= COMMITS
    }
    await cutting
    expect(cuts).toBeGreaterThan(COMMITS / 10)
    await using successor = await opened.takeOver()
    expect(await readNumbers(successor, AGENT)).toEqual(numbersTo(opened.writer.acknowledged))
  })

  test.each([
    ['before', [1]],
    ['after', [1, 2]],
  ] as const)('%s the server has the commit, and another daemon takes over: FENCED, and no row from then on', async (place, landed) => {
    await using opened = await openWriter()
    const options = { matching: isCommit, thenRefuse: true }
    const cut = place === 'before' ? opened.proxy.cutBeforeRequest(options) : opened.proxy.cutAfterRequest(options)
    const write = opened.writer.writeUntil(() => opened.writer.acknowledged === 2)
    await cut
    await using successor = await opened.takeOver()
    opened.proxy.resume()
    expect(await write).toMatchObject({ code: 'FENCED' })
    await expect(opened.writer.write()).rejects.toMatchObject({ code: 'FENCED' })
    expect(await readNumbers(successor, AGENT)).toEqual(landed)
  })

  test('of a connection that stalls, while another daemon takes over: FENCED, and no row from then on', async () => {
    await using opened = await openWriter()
    opened.proxy.stall()
    const write = opened.writer.write()
    await using successor = await opened.takeOver()
    opened.proxy.resume()
    await expect(write).rejects.toMatchObject({ code: 'FENCED' })
    expect(await readNumbers(successor, AGENT)).toEqual([1])
  })

  test(`while the server is killed and restarted ${CRASHES} times: the writer waits for it`, async () => {
    await using opened = await openWriter()
    let isDone = false
    const writing = opened.writer.writeUntil(() => isDone)
    for (let crash = 0; crash <= CRASHES; crash += 1) {
      const before = opened.writer.acknowledged
      await waitUntil(() => opened.writer.acknowledged > before + 3, 'some commits')
      if (crash === CRASHES) break
      await suite.server.crash()
      await suite.server.start()
    }
    isDone = true
    expect(await writing).toBeNull()
    await using successor = await opened.takeOver()
    expect(await readNumbers(successor, AGENT)).toEqual(numbersTo(opened.writer.acknowledged))
  })
})
