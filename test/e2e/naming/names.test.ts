// Names that were used more than once. Reading verbs take the newest ended process, with a note, and changing verbs are refused.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { connect, type Reeve } from '../../../src/index.ts'
import { runCli, type CliResult } from '../../support/daemon/cli.ts'
import { tempDir, type TempDir } from '../../support/tmp.ts'

let dir: TempDir
let reeve: Reeve
const pids: number[] = []
beforeAll(async () => {
  dir = await tempDir()
  reeve = connect({ home: dir.path, start: false })
  const script = join(dir.path, 'done.yaml')
  writeFileSync(script, '- text: Done.\n')
  for (const code of [0, 3]) {
    await run('run', '--name', 'build', '--', 'sh', '-c', `echo of ${code}; exit ${code}`)
    pids.push((await reeve.list({ all: true })).at(-1)?.pid ?? 0)
  }
  writeFileSync(
    join(dir.path, 'reeve.yaml'),
    'agents:\n  a: { command: [echo, hello] }\ncrews:\n  words: { worktrees: false, reviews: false, workers: 1, model: "script:done.yaml", tasks: [{ id: t, text: do it }] }\n',
  )
})
afterAll(async () => {
  await run('daemon', 'stop', '--now')
  await dir[Symbol.asyncDispose]()
})

const run = (...args: string[]): Promise<CliResult> => runCli(dir.path, args)

test.each([
  ['inspect', 'failed'],
  ['logs', 'of 3'],
  ['events', `PID`],
  ['steps', ''],
  ['lineage', 'build'],
  ['signals', 'none'],
  ['attach', ''],
  ['wait', 'failed'],
])('`%s` takes the newest process of a name, with a note', async (verb, expectedText) => {
  const result = await run(verb, 'build')
  expect(result.stderr).toMatch(new RegExp(`^"build" names several ended processes; the newest is PID ${pids[1]} \\(failed 20\\d\\d-`))
  expect(result.stdout).toContain(expectedText)
  expect(result.code).toBe(verb === 'attach' || verb === 'wait' ? 3 : 0)
})

test.each([['resume', '--rerun'], ['rm'], ['pin'], ['rename', 'other'], ['label', 'a=1'], ['send', 'x'], ['kill']])(
  '`%s` of a name with several processes is refused, with the candidates',
  async (verb, ...args) => {
    const { code, stderr } = await run(verb, 'build', ...args)
    expect(code).toBe(3)
    expect(stderr).toMatch(/"build" may be any of .*, failed\), .*, completed\)/)
    expect(stderr).toMatch(new RegExp(`by its PID: PID ${pids[1]} \\(failed 20.*, PID ${pids[0]} \\(completed 20.*\\)\\.`))
    expect((await reeve.list({ all: true })).filter(({ name }) => name === 'build')).toHaveLength(2)
  },
)

test('a living process comes before ended processes with its name', async () => {
  await run('run', '-d', '--name', 'build', '--', 'sh', '-c', 'while :; do sleep 0.05; done')
  expect((await run('inspect', 'build')).stderr).toBe('')
  await run('kill', 'build')
})

test('the PID of an earlier incarnation names its process, and a note has the current PID', async () => {
  await run('run', '--name', 'again', '--', 'true')
  const pid = (await reeve.get('again')).pid
  await run('resume', '-d', '--rerun', 'again')
  await run('wait', 'again')
  const currentPid = (await reeve.get('again')).pid
  const note = `${pid} is now ${currentPid}\n`
  for (const verb of ['inspect', 'logs', 'steps', 'events', 'wait'])
    expect([verb, (await run(verb, String(pid))).stderr]).toEqual([verb, note])
  expect((await run('inspect', '--json', String(pid))).stdout).toContain(`"pid": ${currentPid}`)
  expect((await run('inspect', String(currentPid))).stderr).toBe('')
  expect((await run('rm', String(pid), String(pid))).stderr).toMatch(new RegExp(`^${note}[^]*PID ${currentPid}`))
})

test('the commands that a crew prints after its second start work', async () => {
  await run('crew', 'up', 'words')
  const { stderr } = await run('crew', 'up', 'words')
  expect(stderr).toContain('`reeve crew report words`')
  for (const verb of ['report', 'tasks', 'ps', 'show']) {
    const result = await run('crew', verb, 'words')
    expect([verb, result.code, result.stderr.split('\n')[0]]).toEqual([
      verb,
      0,
      expect.stringContaining('"words" names several ended processes; the newest is PID '),
    ])
  }
  expect((await run('crew', 'resume', 'words')).code).toBe(3)
})

test('a verb for living processes is refused without candidates when all processes of the name have ended', async () => {
  await run('crew', 'up', 'words')
  await run('crew', 'up', '--anew', 'words')
  const endedNotice = /^reeve: all processes named "words" have ended; the newest is PID \d+ \((?:failed|completed) .*\)\n/
  for (const verb of ['stop', 'pause'])
    expect(await run('crew', verb, 'words')).toMatchObject({ code: 3, stderr: expect.stringMatching(endedNotice) })
  expect(await run('crew', 'retry', 'words', 't')).toMatchObject({
    code: 3,
    stderr: expect.stringMatching(/^reeve: crew words \(PID \d+\) has ended\n.*`reeve crew up .* words` takes over the done tasks/),
  })
  expect(await run('crew', 'deny', 'words', 't', 'No.')).toMatchObject({
    code: 3,
    stderr: expect.stringMatching(/^reeve: crew words \(PID \d+\) has ended\n/),
  })
  await run('compose', 'up', '--name', 'app')
  await run('compose', 'up', '--name', 'app')
  expect(await run('compose', 'down', 'app')).toMatchObject({
    code: 3,
    stderr: expect.stringMatching(/^reeve: all processes named "app" have ended; the newest is PID \d+ \(completed /),
  })
  expect((await run('compose', 'down', 'none')).stderr).toContain('no process "none"')
})

test('compose ps takes the newest run of a name', async () => {
  await run('compose', 'up', '--name', 'app')
  await run('compose', 'up', '--name', 'app')
  const result = await run('compose', 'ps', 'app')
  expect([result.code, result.stderr.split('\n')[0]]).toEqual([
    0,
    expect.stringContaining('"app" names several ended processes; the newest is PID '),
  ])
})
