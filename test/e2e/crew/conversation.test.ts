// A crew whose members are programs that answer once and exit. Each turn runs a program, which uses reeve's tools to implement, review
// and commit. The crew survives a daemon crash. Notes name what reeve cannot enforce for such programs.
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { CrewUpView } from '../../../src/api/views/crew-up.ts'
import type { CrewView } from '../../../src/api/views/crew.ts'
import { makeTask } from '../../support/crew/crew-home.ts'
import { DaemonHome } from '../../support/daemon/daemon-home.ts'
import { ROOT, testEnv } from '../../support/env.ts'
import { Repository } from '../../support/git/repository.ts'

const CREW_WORKER = join(ROOT, 'test/support/programs/crew-worker.ts')

let home: DaemonHome
let repository: Repository
let userHome: string
beforeEach(async () => {
  home = await DaemonHome.create()
  userHome = join(home.work, 'person')
  mkdirSync(userHome)
  repository = Repository.make(join(home.work, 'project'), userHome)
  repository.git('config', 'user.name', 'P')
  repository.git('config', 'user.email', 'p@example.org')
  const program = join(home.work, 'claude')
  writeFileSync(program, `#!/bin/sh\nexec '${process.execPath}' '${CREW_WORKER}' "$@"\n`, { mode: 0o755 })
  const command = [program, '-p', '--output-format', 'stream-json', '--verbose']
  const files = { 'once.md': command, 'forgets.md': [...command, '--no-session-persistence'], 'plain.md': ['true'] }
  const agents = Object.entries(files).map(([name, argv]) => [
    `.reeve/agents/${name}`,
    `---\ndriver: command\ncommand: ${JSON.stringify(argv)}\n---\n`,
  ])
  repository.commit({ 'README.md': '# a project\n', ...(Object.fromEntries(agents) as Record<string, string>) }, 'begin')
  await home.start()
})
afterEach(() => home[Symbol.asyncDispose]())

const startCrew = (body: object): Promise<CrewUpView> =>
  home.client.post<CrewUpView>('/v1/crews', { name: 'team', cwd: repository.dir, agent: 'once', env: testEnv(userHome), ...body })

async function waitForEnd(uuid: string): Promise<CrewView> {
  await home.waitForEnd(uuid)
  return (await home.client.get<{ crew: CrewView }>(`/v1/crews/${uuid}`)).crew
}

test('a crew of programs implements, reviews and commits its tasks, also when the daemon is killed during a turn', async () => {
  writeFileSync(join(userHome, 'hang-two'), '')
  const {
    process: { uuid },
    notes,
  } = await startCrew({ workers: 2, tasks: [makeTask('one'), makeTask('two', ['one'])] })
  expect(notes).toContain('agent once does not ask reeve before it acts; only its own flags restrict it')
  await expect.poll(() => existsSync(join(userHome, 'hang-two.now')), { timeout: 90_000, interval: 50 }).toBe(true)
  await home.kill()
  await home.waitUntilNothingIsLeft()
  await home.start()
  const { tasks } = await waitForEnd(uuid)
  expect(
    tasks.map(({ id, state, denials, reviewer, implementer }) => [id, state, denials, reviewer !== null && reviewer !== implementer]),
  ).toEqual([
    ['one', 'done', 0, true],
    ['two', 'done', 0, true],
  ])
  for (const id of ['one', 'two']) expect(repository.git('show', `reeve/team:${id}.txt`)).toBe(`${id}.`)
  expect(repository.git('log', '--format=%s', '--no-merges', 'main..reeve/team').split('\n').toSorted()).toEqual([
    'one: it is written',
    'two: it is written',
  ])
  expect(await home.stop()).toMatchObject({ code: 0 })
  await home.waitUntilNothingIsLeft()
}, 300_000)

test.each([
  ['plain', /^agent "plain" takes no messages while it runs, so it cannot be a generic of a crew$/],
  ['forgets', /disables the sessions of/],
])('a crew refuses the agent `%s`', async (agent, message) => {
  await expect(startCrew({ agent, workers: 1, tasks: [makeTask('one')] })).rejects.toMatchObject({
    code: 'INVALID',
    message: expect.stringMatching(message) as string,
  })
  expect(await home.listProcesses()).toEqual([])
})
