// Questions of external agents, and their answers: by the API, on the command line and on a terminal. The agent is a real program that
// speaks ACP.
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { expectSteerResponse } from '../../support/daemon/steer-response.ts'
import { runCli } from '../../support/daemon/cli.ts'
import { LocalDaemon } from '../../support/daemon/local-daemon.ts'
import { HAS_TERMINAL, Terminal } from '../../support/daemon/terminal.ts'
import type { ProcessView, SpawnBody, SteerView } from '../../../src/api/views/process.ts'

const PROGRAM = resolve(import.meta.dirname, '../../support/programs/acp-agent.ts')

let daemon: LocalDaemon
let log: string

beforeEach(async () => {
  daemon = await LocalDaemon.start()
  log = join(daemon.work, 'agent.log')
  await mkdir(join(daemon.work, '.reeve/agents'), { recursive: true })
  await writeAgentFile()
})
afterEach(async () => {
  await daemon[Symbol.asyncDispose]()
  expect(daemon.errors).toEqual([])
})

/** Writes the agent file of the asking agent; `lines` are further lines of it. */
async function writeAgentFile(...lines: string[]): Promise<void> {
  const command = [process.execPath, PROGRAM, `sessions=${daemon.work}`, `log=${log}`, 'resume', 'close']
  const keys = ['driver: acp', 'asks: true', `command: ${JSON.stringify(command)}`, ...lines]
  await writeFile(join(daemon.work, '.reeve/agents/coder.md'), `---\n${keys.join('\n')}\n---\n`)
}

const start = (intent: string, body: Partial<SpawnBody> = {}): Promise<ProcessView> => daemon.spawn({ agent: 'coder', intent, ...body })
const answer = (ref: string, body: object): Promise<SteerView> => daemon.client.post(`/v1/processes/${ref}/answer`, body)
const waitForQuestion = async (ref: string): Promise<ProcessView> =>
  (await daemon.client.get<{ process: ProcessView }>(`/v1/processes/${ref}/wait`, { for: 'waiting' })).process
const readLogLines = async (): Promise<string[]> => (await readFile(log, 'utf8').catch(() => '')).split('\n')

describe('an agent that asks', () => {
  test('waits, is shown with its question, and continues after the answer', async () => {
    const { uuid } = await start('ask execute npm test')
    const asks = await waitForQuestion(uuid)
    expect(asks).toMatchObject({ status: 'waiting', activity: 'waiting', note: 'asks: npm test (execute)' })
    expect(asks.asks).toMatchObject([
      {
        kind: 'permission',
        text: 'npm test (execute)\n{"command":"npm test"}',
        options: [{ id: 'yes', name: 'Allow' }, { id: 'always' }, { id: 'no' }],
      },
    ])
    await expect(answer(uuid, { option: 'maybe' })).rejects.toMatchObject({
      code: 'INVALID',
      message: expect.stringContaining('one of yes, always, no, not "maybe"'),
      details: { options: expect.any(Array) },
    })
    await expect(answer(uuid, {})).rejects.toMatchObject({ code: 'INVALID' })
    expectSteerResponse(await answer(uuid, { option: 'yes' }))
    expect(await daemon.waitForEnd(uuid)).toMatchObject({ status: 'completed', asks: [], step: 1 })
    expect(await readLogLines()).toContain('answer: yes')
    await expect(answer(uuid, { option: 'yes' })).rejects.toMatchObject({ code: 'NOT_FOUND' })
  })

  test('is shown with the change of a file, as the agent described it', async () => {
    const { uuid } = await start('ask-edit src/a.ts old new')
    const { asks } = await waitForQuestion(uuid)
    expect(asks).toMatchObject([
      {
        kind: 'permission',
        step: 1,
        message: 'I change src/a.ts.',
        source: 'said',
        tool: { name: 'edit', kind: 'edit', input: { file: 'src/a.ts' }, locations: ['src/a.ts'] },
        diff: [{ path: 'src/a.ts', old: 'old', new: 'new', oldKnown: true }],
      },
    ])
    await answer(uuid, { option: 'yes', seen: asks[0]?.hash })
    expect(await daemon.waitForEnd(uuid)).toMatchObject({ status: 'completed' })
  })

  test('gets an answer at its time, unless the user takes the answer back; its text begins another turn', async () => {
    const { uuid } = await start('ask execute npm test')
    const [ask] = (await waitForQuestion(uuid)).asks
    const withdraw = (): Promise<SteerView> => daemon.client.delete(`/v1/processes/${uuid}/answer/${ask?.id}`)
    await expect(withdraw()).rejects.toMatchObject({ code: 'CONFLICT' })
    const answered = await answer(uuid, { option: 'yes', undoMs: 60_000 })
    expectSteerResponse(answered)
    expect(answered).toMatchObject({ undo: { id: ask?.id, until: expect.any(String) }, process: { status: 'waiting', asks: [] } })
    const withdrawn = await withdraw()
    expectSteerResponse(withdrawn)
    expect(withdrawn.process.asks).toMatchObject([{ id: ask?.id, hash: ask?.hash }])
    const { note } = await answer(uuid, { option: 'no', text: 'keep the old API', seen: ask?.hash, undoMs: 1 })
    expect(note).toBe('the agent gets the text as a message, because the answer itself has no place for it')
    expect(await daemon.waitForEnd(uuid)).toMatchObject({ status: 'completed', turn: 2 })
    expect((await readLogLines()).filter((line) => /^(answer|prompt)/.test(line))).toEqual([
      'prompt "ask execute npm test"',
      'answer: no',
      'prompt "keep the old API"',
    ])
    expect(await daemon.readFactTypes(uuid)).toEqual(expect.arrayContaining(['process.unanswered', 'process.delivered']))
  })

  test('gets an answer that came during a pause after the resume', async () => {
    const { uuid } = await start('ask execute npm test')
    await waitForQuestion(uuid)
    await daemon.pause(uuid)
    await daemon.waitForEvent(uuid, ({ fact }) => fact === 'process.frozen')
    expect((await answer(uuid, { option: 'no' })).note).toContain('the process is suspended')
    expect(await daemon.view(uuid)).toMatchObject({ status: 'suspended', asks: [] })
    expect(await readLogLines()).not.toContain('answer: no')
    await daemon.resume(uuid)
    expect(await daemon.waitForEnd(uuid)).toMatchObject({ status: 'completed' })
    expect(await readLogLines()).toContain('answer: no')
  })

  test('is shown on the command line with its question, and an answer is chosen by its number', async () => {
    const { uuid, pid } = await start('ask-twice execute npm test')
    await waitForQuestion(uuid)
    await daemon.waitForEvent(uuid, ({ fact, ask }) => fact === 'process.waiting' && JSON.stringify(ask).includes('npm test 2'))
    const cli = (...args: string[]): ReturnType<typeof runCli> => runCli(daemon.home, args, { cwd: daemon.work })
    expect((await cli('ps')).stdout).toContain('(and 1 more)')
    const listResult = await cli('answer', String(pid))
    expect(listResult.stdout).toMatch(
      /^\[1\] npm test 1 .*\n(.*\n)? {6}1 Allow\n {6}2 Always\n {6}3 Reject\n\n {6}`reeve answer --ask 1 \d+ NUMBER`\n\[2\]/,
    )
    expect(await cli('answer', String(pid), '1')).toMatchObject({ code: 64, stderr: expect.stringContaining('has 2 open questions') })
    expect(await cli('answer', String(pid), '--ask', '2', 'perhaps')).toMatchObject({
      code: 64,
      stderr: expect.stringContaining('1 Allow, 2 Always, 3 Reject'),
    })
    expect(await cli('answer', String(pid), '--ask', '2', '--no')).toMatchObject({ code: 0 })
    expect(await cli('answer', String(pid), '1')).toMatchObject({ code: 0, stderr: `answered: PID ${pid} goes on\n` })
    expect(await daemon.waitForEnd(uuid)).toMatchObject({ status: 'completed' })
    expect((await readLogLines()).filter((line) => line.startsWith('answer:')).toSorted()).toEqual(['answer: no', 'answer: yes'])
    expect((await cli('logs', String(pid))).stdout).toContain('answered: no (by user)')
  })

  test('does not ask where a rule of its agent file answers', async () => {
    await writeAgentFile('permissions: { default: deny, tools: { execute: allow } }')
    const { uuid } = await start('ask execute rm x')
    expect(await daemon.waitForEnd(uuid)).toMatchObject({ status: 'completed' })
    expect(await daemon.readFactTypes(uuid)).not.toContain('process.waiting')
    expect(await readLogLines()).toContain('answer: yes')
  })

  test('does not ask if its process was started with one answer for all questions', async () => {
    const allowed = await start('ask execute npm test', { permissions: 'allow' })
    expect(await daemon.waitForEnd(allowed.uuid)).toMatchObject({ status: 'completed' })
    const deniedView = await start('ask execute npm test', { permissions: 'deny' })
    await daemon.waitForEnd(deniedView.uuid)
    expect((await readLogLines()).filter((line) => line.startsWith('answer:'))).toEqual(['answer: yes', 'answer: no'])
  })

  test('has native children that ask, unless it is allowed all', async () => {
    const childOf = async (body: Partial<SpawnBody>): Promise<ProcessView> => {
      const parent = await start('say hello', { interactive: true, ...body })
      return daemon.spawnScripted([{ tools: [{ name: 'bash', input: { command: 'true' } }] }, { text: 'done' }], { parent: parent.uuid })
    }
    const { uuid } = await childOf({})
    expect(await waitForQuestion(uuid)).toMatchObject({ asks: [{ text: 'bash: true' }] })
    await answer(uuid, { option: 'allow' })
    expect(await daemon.waitForEnd(uuid)).toMatchObject({ status: 'completed', capabilities: { calls: { default: 'ask' } } })
    expect(await daemon.waitForEnd((await childOf({ permissions: 'allow' })).uuid)).toMatchObject({ capabilities: { calls: null } })
  })

  test('asks as its own settings decide with `permissions: agent`, and cannot be limited then', async () => {
    const { uuid } = await start('ask execute npm test', { permissions: 'agent' })
    const { capabilities } = await waitForQuestion(uuid)
    expect(capabilities.calls).toMatchObject({ default: 'agent' })
    expect(capabilities.notes).toContain('permissions: its own settings decide what it asks about')
    await answer(uuid, { option: 'yes' })
    expect(await daemon.waitForEnd(uuid)).toMatchObject({ status: 'completed' })
    await expect(start('say hello', { permissions: 'agent', deny: ['bash'] })).rejects.toMatchObject({ code: 'PERMISSION' })
  })
})

describe.runIf(HAS_TERMINAL)('on a terminal', () => {
  test('a run shows the question, and takes the number', async () => {
    using terminal = new Terminal(daemon.home, ['run', '--cwd', daemon.work, '--agent', 'coder', 'ask execute npm test'])
    await terminal.waitForText(/asks: npm test \(execute\)\n(.*\n)? {4}1 Allow\n {4}2 Always\n {4}3 Reject\n/)
    await terminal.waitForText(/● waiting .*asks: npm test/)
    terminal.type('5\r')
    await terminal.waitForText(/sent as a message, not an answer/)
    terminal.type('1\r')
    await terminal.waitForText(/answered: yes \(by user\)/)
    await terminal.waitForText(/completed/)
    expect((await readLogLines()).filter((line) => line.startsWith('answer:'))).toEqual(['answer: yes'])
  })
})
