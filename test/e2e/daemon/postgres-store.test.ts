// Daemons whose processes are in a PostgreSQL database: a killed one continues with them, and so does the daemon of another home.
import { writeFile } from 'node:fs/promises'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { prepareState } from '../../../src/config/paths.ts'
import { DaemonHome } from '../../support/daemon/daemon-home.ts'
import { readProcess } from '../../support/living-processes.ts'
import { describePostgres } from '../../support/postgres/describe-postgres.ts'
import { waitUntil } from '../../support/wait-until.ts'

describePostgres('a home with a database', {}, (suite) => {
  let url: string
  let homes: AsyncDisposableStack

  beforeEach(async () => {
    url = await suite.server.createDatabase()
    homes = new AsyncDisposableStack()
  })
  afterEach(() => homes.disposeAsync())

  /** Creates a home that has its processes in the database. */
  async function homeWithDatabase(): Promise<DaemonHome> {
    const home = homes.use(await DaemonHome.create())
    prepareState(home.paths)
    await writeFile(home.paths.configFile, JSON.stringify({ store: { url, durability: 'single' } }))
    return home
  }

  test('continues with its processes after a kill of the daemon', async () => {
    const home = await homeWithDatabase()
    await home.start()
    const model = home.writeScript([{ text: 'first' }, { text: 'second' }])
    const { uuid, pid } = await home.spawn({ name: 'docs', model, interactive: true })
    await home.waitForView(uuid, ({ status }) => status === 'ready')
    await home.kill()

    await home.start()
    expect(await home.view('docs')).toMatchObject({ uuid, pid, status: 'interrupted', step: 1 })
    const resumed = await home.resume('docs')
    expect(resumed.pid).toBeGreaterThan(pid)
    await home.waitForView(uuid, ({ status }) => status === 'ready')
    await home.client.post('/v1/processes/docs/send', { text: 'go on' })
    expect(await home.waitForView(uuid, ({ step, status }) => step === 2 && status === 'ready')).toMatchObject({ uuid })
    expect((await home.stop()).code).toBe(0)
  })

  test('is taken over by the daemon of another home: the first one ends its programs and stops', async () => {
    const [first, second] = [await homeWithDatabase(), await homeWithDatabase()]
    const { pid: firstDaemon } = await first.start()
    const agent = await first.spawn({ name: 'agent', model: first.writeScript([{ text: 'first' }]), interactive: true })
    const command = await first.spawn({ name: 'sleeper', argv: ['sh', '-c', 'sleep 600'] })
    await first.waitForView(agent.uuid, ({ status }) => status === 'ready')
    await first.waitForView(command.uuid, ({ status }) => status === 'working')

    await second.start()
    const [agentThere, commandThere] = [await second.view('agent'), await second.view('sleeper')]
    expect([agentThere.uuid, commandThere.uuid]).toEqual([agent.uuid, command.uuid])
    expect([agentThere.status, commandThere.status]).toEqual(['interrupted', 'interrupted'])
    await waitUntil(() => readProcess(firstDaemon) === null, 'the first daemon has stopped')
    expect(first.readLog()).toContain('FENCED')
    await first.waitUntilNothingIsLeft()
    expect((await second.resume('agent')).pid).toBeGreaterThan(command.pid)
  })
})
