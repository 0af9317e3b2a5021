// Verbs that wait for a process or follow it report what suspends it, and the command that continues it. The report comes at once,
// and again after a change. The tests use one real daemon, and scripts play the models.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { connect, type Reeve } from '../../../src/index.ts'
import { runCli, startCli, type CliResult, type RunningCli } from '../../support/daemon/cli.ts'
import { tempDir, type TempDir } from '../../support/tmp.ts'

let dir: TempDir
let reeve: Reeve
beforeAll(async () => {
  dir = await tempDir()
  reeve = connect({ home: dir.path, start: false })
  await run('daemon', 'start')
})
afterAll(async () => {
  await run('daemon', 'stop', '--now')
  await dir[Symbol.asyncDispose]()
})

/** The time after which a wait is stated, as users have it. */
const USUAL_WAIT = { REEVE_WAIT_NOTE_S: '2' }
const run = (...args: string[]): Promise<CliResult> => runCli(dir.path, args)
const runWithNote = (...args: string[]): Promise<CliResult> => runCli(dir.path, args, { env: USUAL_WAIT })

function writeScript(name: string, yaml: string): string {
  const file = join(dir.path, `${name}.yaml`)
  writeFileSync(file, yaml)
  return `script:${file}`
}

/** Starts a command and pauses it. */
async function spawnPaused(name: string): Promise<number> {
  await run('run', '-d', '--name', name, '--', 'sh', '-c', 'while :; do sleep 0.05; done')
  await run('pause', name)
  return (await reeve.get(name)).pid
}

const holdNote = (name: string, pid: number): string =>
  `⏸ PID ${pid} (${name}) is suspended by user\n  \`reeve resume ${pid}\` continues it\n`

test.each([
  ['wait', (name: string) => ['wait', name]],
  ['logs -f', (name: string) => ['logs', '-f', name]],
  ['attach', (name: string) => ['attach', name]],
])('`%s` reports a hold at once, its end, and the next hold', async (verb, args) => {
  const name = `of-${verb.replace(/\W+/g, '-')}`
  const pid = await spawnPaused(name)
  // Stdin is open, and not a terminal. It gives no input, and must not end the follower.
  const follower = startCli(dir.path, args(name), { stdin: 'open' })
  await follower.waitForText(holdNote(name, pid))
  await run('resume', '-d', name)
  await follower.waitForText(`PID ${pid} (${name}) goes on\n`)
  await run('pause', name)
  await follower.waitForText(new RegExp(`goes on\n(?:  waits since .*\n)*  ⏸ PID ${pid} `))
  await run('kill', name)
  const { stderr } = await follower.result
  expect(stderr.split(holdNote(name, pid))).toHaveLength(3)
})

test('run without a terminal, wait, resume and send report the command that raises the budget', async () => {
  const model = writeScript(
    'spend',
    '- text: one\n  usage: { input: 90, output: 20 }\n  tools: [{ name: ls, input: { path: . } }]\n- text: two\n',
  )
  const follower = startCli(dir.path, ['run', '--name', 'spender', '--budget-tokens', '100', '--model', model, 'spend it'])
  await follower.waitForText('spawned')
  await reeve.wait('spender', { for: 'suspended' })
  const { pid } = await reeve.get('spender')
  const hint = `\`reeve resume --budget-tokens +N ${pid}\` continues it`
  await follower.waitForText(hint)
  const [sentResult, resumeResult, waited] = await Promise.all([
    run('send', 'spender', 'go'),
    run('resume', '-d', 'spender'),
    run('wait', '--timeout', '3s', 'spender'),
  ])
  expect([sentResult.stderr, resumeResult.stderr, waited.stderr].map((text) => text.includes(hint))).toEqual([true, true, true])
  expect(await run('wait', '--for', 'exited,suspended', 'spender')).toMatchObject({
    code: 123,
    stdout: `PID ${pid} (spender) suspended\n`,
    stderr: '',
  })
  await run('resume', '-d', '--budget-tokens', '+10000', 'spender')
  expect((await follower.result).code).toBe(0)
})

test('a detach from a suspended process does not report that the process keeps running', async () => {
  const pid = await spawnPaused('left')
  const follower = startCli(dir.path, ['attach', 'left'])
  expect((await follower.result).stderr).toContain(
    `detached: PID ${pid} (left) is suspended by user; \`reeve resume ${pid}\` continues it; \`reeve attach ${pid}\` follows it again\n`,
  )
  await run('kill', 'left')
})

test('compose up names the suspended node and the command that helps', async () => {
  writeFileSync(join(dir.path, 'reeve.yaml'), 'agents:\n  slow: { command: [sh, -c, "while [ ! -e slow-go ]; do sleep 0.05; done"] }\n')
  const follower = startCli(dir.path, ['compose', 'up'])
  await follower.waitForText('slow  running')
  const node = (await reeve.list({})).find(({ name }) => name?.endsWith('.slow'))
  await run('pause', String(node?.pid))
  await follower.waitForText(`⏸ PID ${node?.pid} (slow) is suspended by user\n  \`reeve resume ${node?.pid}\` continues it\n`)
  writeFileSync(join(dir.path, 'slow-go'), '')
  await run('resume', '-d', String(node?.pid))
  expect((await follower.result).code).toBe(0)
})

test('a crew with a used-up budget reports the command that helps, and continues with more', async () => {
  const model = writeScript(
    'member',
    'steps:\n  - { text: first, usage: { input: 90, output: 20 }, tools: [{ name: ls, input: { path: . } }] }\n  - { text: second, tools: [{ name: mcp__reeve__report_implementation_complete, input: { summary: done } }] }\n  - text: .\n',
  )
  writeFileSync(join(dir.path, 'tasks.yaml'), '- { id: one, text: x, reviews: false }\n')
  await run(
    'crew',
    'up',
    '-d',
    '--cwd',
    dir.path,
    '--no-worktrees',
    '--name',
    'spenders',
    '--workers',
    '1',
    '--tasks',
    join(dir.path, 'tasks.yaml'),
    '--budget-tokens',
    '100',
    '--model',
    model,
  )
  await run('wait', '--for', 'suspended', 'spenders')
  const { pid } = await reeve.get('spenders')
  const next = `\`reeve resume --budget-tokens +N ${pid}\` continues it`
  expect((await run('crew', 'ps', 'spenders')).stderr).toContain(`is suspended: budget (budget: 110 of 100 tokens are used); ${next}`)
  expect(await run('crew', 'resume', 'spenders')).toMatchObject({
    code: 1,
    stderr: `spenders (PID ${pid}) suspended; still suspended: budget\n${next}\n`,
  })
  expect(await run('crew', 'resume', '--budget-tokens', '+500', 'spenders')).toMatchObject({ code: 0 })
  expect((await run('wait', 'spenders')).code).toBe(0)
})

test('attach without a terminal prints a question once, and run reports since when it waits', async () => {
  const model = writeScript('asking', "- tools: [{ name: bash, input: { command: 'echo same' } }]\n- text: end\n")
  const follower = startCli(dir.path, ['run', '--name', 'asker', '--permissions', 'ask', '--model', model, 'look'], {
    env: USUAL_WAIT,
  })
  await follower.waitForText('answers\n')
  const { pid } = await reeve.get('asker')
  const detached = await run('attach', 'asker')
  expect(detached.stderr.split('bash: echo same')).toHaveLength(2)
  expect(detached.stderr).toContain(`detached: PID ${pid} (asker) waits for your answer; \`reeve attach ${pid}\` follows it again\n`)
  const typed = startCli(dir.path, ['attach', 'asker'], { stdin: 'open' })
  typed.child.stdin?.write('1\n')
  await typed.waitForText(`1 was sent as a message; \`reeve answer ${pid} 1\` answers the question\n`)
  typed.child.stdin?.end()
  await typed.result
  await follower.waitForText('waits since')
  await run('answer', 'asker', 'allow')
  const { code, stderr } = await follower.result
  expect(code).toBe(0)
  expect(stderr.match(/^.*waits since.*$/gm)).toEqual([
    expect.stringMatching(
      new RegExp(
        `^  waits since [-:\\d ]+ for an answer to PID ${pid} \\(asker\\); .*\`reeve answer .*\` answers, \`reeve stop ${pid}\` ends it$`,
      ),
    ),
  ])
})

test('a wait of two seconds states for what, since when, and what ends it; again when that changes', async () => {
  await run('run', '-d', '--name', 'builder', '--', 'sh', '-c', 'while :; do sleep 0.05; done')
  const { pid } = await reeve.get('builder')
  const [ending, impossible] = [['builder'], ['--for', 'ready', 'builder']].map((args) =>
    startCli(dir.path, ['wait', ...args], { env: USUAL_WAIT }),
  ) as [RunningCli, RunningCli]
  await ending.waitForText(`for PID ${pid} (builder) to end: it is working; it ends by itself, or \`reeve stop ${pid}\` ends it\n`)
  await impossible.waitForText(`for PID ${pid} (builder) to be ready, but a plain command neither becomes ready nor asks; its end, or`)
  await run('pause', 'builder')
  await ending.waitForText(`for PID ${pid} (builder) to go on; \`reeve resume ${pid}\` continues it, \`reeve stop ${pid}\` ends it\n`)
  await run('kill', '-s', 'KILL', 'builder')
  expect((await impossible.result).code).toBe(125)
  expect((await ending.result).stderr.match(/waits since \d\d:\d\d:\d\d for/g)).toHaveLength(2)
})

test('`kill` states that it waits for a program that ignores SIGTERM, and when SIGKILL ends that', async () => {
  await run('run', '-d', '--name', 'stubborn', '--', 'sh', '-c', 'trap "" TERM; echo trapped; while :; do sleep 0.05; done')
  await expect.poll(async () => (await reeve.logs('stubborn')).lines.length).toBe(1)
  const { pid } = await reeve.get('stubborn')
  const { stderr } = await runWithNote('kill', '--grace', '8s', 'stubborn')
  expect(stderr).toMatch(new RegExp(`waits since [:\\d]+ for PID ${pid} \\(stubborn\\) to end; SIGKILL ends it at [:\\d]+\\n`))
})

test('wait --for done ends with 75 when the user is needed, and with the code of an ended process', async () => {
  const model = writeScript('done', "- tools: [{ name: bash, input: { command: 'echo same' } }]\n- text: end\n")
  const uuid = (await run('run', '-d', '--permissions', 'ask', '--model', model, 'look')).stdout.trim()
  const needing = await run('wait', '--for', 'done', uuid)
  const { pid } = await reeve.get(uuid)
  expect(needing).toMatchObject({ code: 75, stdout: `PID ${pid} waiting\n` })
  expect(needing.stderr).toMatch(new RegExp(`^PID ${pid} asks: .*; \`reeve answer ${pid} .*\n$`))
  await run('answer', uuid, 'allow')
  expect((await run('wait', '--for', 'done', uuid)).code).toBe(0)
  const ready = (await run('run', '-d', '--interactive', '--model', writeScript('hello', '- text: hello\n'), 'greet')).stdout.trim()
  expect(await run('wait', '--for', 'done', ready)).toMatchObject({ code: 0, stderr: '' })
  await run('pause', ready)
  expect((await run('wait', '--for', 'done', '--json', ready)).code).toBe(75)
  await run('kill', ready)
})
