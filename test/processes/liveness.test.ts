// The words of liveness with real programs and a real daemon: stopped from outside, silent, looping, waiting, failing again and
// again; and the honest ones that get no word. Thresholds are short; nothing waits for a time but for what comes of it.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { HeartbeatView } from '../../src/api/heartbeat-views.ts'
import type { ProcessView, SpawnBody } from '../../src/api/views.ts'
import type { ContainmentKind } from '../../src/kernel/types.ts'
import { runCli } from '../support/cli.ts'
import { workingKinds } from '../support/contained.ts'
import { eventually, killLeft, livingWith, newToken } from '../support/living.ts'
import { LocalDaemon } from '../support/local-daemon.ts'

const PROGRAM = fileURLToPath(new URL('../support/programs/acp-agent.ts', import.meta.url))
const KINDS = await workingKinds()

let daemon: LocalDaemon
let token: string

beforeEach(async () => {
  daemon = await LocalDaemon.start({ config: 'liveness: { stopped: 500ms }\n' })
  token = newToken()
})
afterEach(async () => {
  await daemon[Symbol.asyncDispose]()
  killLeft(token)
  expect(daemon.errors).toEqual([])
})

/** An agent of others, with thresholds of its own. */
async function agent(intent: string, liveness: string, body: Partial<SpawnBody> = {}): Promise<ProcessView> {
  const argv = [process.execPath, PROGRAM, token, `sessions=${daemon.work}`]
  return daemon.spawn({ agent: agentFile('fake', `driver: acp\ncommand: ${JSON.stringify(argv)}`, liveness), intent, ...body })
}

function agentFile(name: string, front: string, liveness: string): string {
  mkdirSync(daemon.paths.agentsDir, { recursive: true })
  writeFileSync(join(daemon.paths.agentsDir, `${name}.md`), `---\n${front}\nliveness: ${liveness}\n---\n`)
  return name
}

const word = (uuid: string, said: string | null): Promise<ProcessView> => daemon.untilSo(uuid, ({ liveness }) => (liveness?.word ?? null) === said)
const words = async (uuid: string): Promise<unknown[]> => (await daemon.history(uuid)).filter(({ fact }) => fact === 'liveness.changed').map((event) => event['word'])
const isSleep = ({ argv }: { readonly argv: readonly string[] }): boolean => argv[0]?.endsWith('sleep') === true
const call = (name: string, input: object): object => ({ tools: [{ name, input }] })

describe('stopped from outside', () => {
  test.each(KINDS)('a command, by its own program (%s)', async (containment: ContainmentKind) => {
    const { uuid } = await daemon.spawn({ argv: ['sleep', token], containment })
    await daemon.until(uuid, 'working')
    await eventually(() => livingWith(token).some(isSleep), 'it runs')
    const [sleeper] = livingWith(token).filter(isSleep)
    process.kill(sleeper?.pid ?? 0, 'SIGSTOP')
    const view = await word(uuid, 'stopped')
    expect(view.liveness?.evidence).toBe(`PID ${sleeper?.pid}`)
    expect(view.note).toMatch(/^stopped since \d\d:\d\d, PID \d+$/)
    process.kill(sleeper?.pid ?? 0, 'SIGCONT')
    await word(uuid, null)
    await daemon.signal(uuid, 'SIGKILL')
    await daemon.ended(uuid)
    expect(await words(uuid)).toEqual(['stopped', 'alive'])
  })

  test('a program that a shell only waits for', async () => {
    const { uuid } = await daemon.sh(`sleep ${token}; true`)
    await eventually(() => livingWith(token).some(isSleep), 'it runs')
    process.kill(livingWith(token).find(isSleep)?.pid ?? 0, 'SIGSTOP')
    await word(uuid, 'stopped')
    await daemon.signal(uuid, 'SIGKILL')
    await daemon.ended(uuid)
  })

  test('a tool of our own agent', async () => {
    const { uuid } = await daemon.play([call('bash', { command: `sleep ${token}` }), { text: 'done' }])
    await eventually(() => livingWith(token).some(isSleep), 'it runs')
    for (const { pid } of livingWith(token)) process.kill(pid, 'SIGSTOP')
    await word(uuid, 'stopped')
    await daemon.signal(uuid, 'SIGKILL')
    await daemon.ended(uuid)
  })

  test('our own pause is none: it says what it is, and no word', async () => {
    const { uuid } = await daemon.spawn({ argv: ['sleep', token], containment: 'group' })
    const other = await daemon.spawn({ argv: ['sleep', token], containment: 'group' })
    await eventually(() => livingWith(token).filter(isSleep).length === 2, 'they run')
    await daemon.pause(uuid, { now: true })
    await daemon.event(uuid, ({ fact }) => fact === 'process.frozen')
    // The other one is stopped now, and is found: by then the first has been looked at too, had it been.
    const { handle } = (await daemon.event(other.uuid, ({ fact }) => fact === 'process.handle')) as unknown as { readonly handle: { readonly pid: number } }
    process.kill(handle.pid, 'SIGSTOP')
    await word(other.uuid, 'stopped')
    expect(await words(uuid)).toEqual([])
    for (const each of [uuid, other.uuid]) await daemon.signal(each, 'SIGKILL')
    for (const each of [uuid, other.uuid]) await daemon.ended(each)
  })
})

describe('an agent of others', () => {
  test('that says nothing is silent, and then stalled; the table, the heartbeat and the command line say so', async () => {
    const { uuid } = await agent('hang', '{ silent: 4s, stalled: 6s }')
    await word(uuid, 'silent')
    expect((await word(uuid, 'stalled')).note).toMatch(/^stalled since \d\d:\d\d/)
    const { processes } = await daemon.client.get<HeartbeatView>('/v1/heartbeat')
    expect(processes).toMatchObject([{ uuid, word: 'stalled', status: 'working', thresholds: { silentMs: 4_000, stalledMs: 6_000, waitingMs: 600_000, policy: 'warn' } }])
    expect(processes[0]?.quietMs).toBeGreaterThanOrEqual(6_000)
    const shown = await runCli(daemon.home, ['heartbeat', 'status'])
    expect(shown).toMatchObject({ code: 0, stderr: '' })
    expect(shown.stdout).toMatch(/PID.*LIVENESS.*QUIET/)
    expect(shown.stdout).toMatch(/working +stalled/)
    await daemon.signal(uuid, 'SIGKILL')
    await daemon.ended(uuid)
    expect((await words(uuid)).slice(-2)).toEqual(['silent', 'stalled'])
  })

  test('that waits for a person says so after a time of its own, and is neither silent nor stalled', async () => {
    const { uuid } = await agent('ask execute rm x\nsay thanks', '{ silent: 100ms, stalled: 100ms, waiting: 1s }', { interactive: true })
    await daemon.until(uuid, 'waiting')
    expect((await word(uuid, 'waiting')).note).toMatch(/^asks: rm x/)
    await daemon.client.post(`/v1/processes/${uuid}/answer`, { option: 'yes' })
    await daemon.ready(uuid)
    expect((await words(uuid)).filter((said) => said === 'waiting')).toHaveLength(1)
    await word(uuid, null)
    await daemon.signal(uuid, 'SIGKILL')
    await daemon.ended(uuid)
  })

  test('with the policy interrupt has its turn ended when it is stalled', async () => {
    const { uuid } = await agent('hang', '{ silent: off, stalled: 4s, policy: interrupt }', { interactive: true })
    await daemon.event(uuid, (event) => event['fact'] === 'process.ready' && event['outcome'] === 'interrupted')
    expect((await daemon.history(uuid)).find(({ fact }) => fact === 'signal.sent')).toMatchObject({ signal: 'SIGINT', by: 'system', via: 'liveness' })
    await daemon.signal(uuid, 'SIGKILL')
    await daemon.ended(uuid)
  })

  test('with the policy restart ends as failed when it is stalled', async () => {
    const { uuid } = await agent('hang', '{ silent: off, stalled: 4s, policy: restart }')
    expect(await daemon.ended(uuid)).toMatchObject({ status: 'failed', exit: { code: 1, reason: expect.stringMatching(/^stalled/) as string } })
    expect((await words(uuid)).at(-1)).toBe('stalled')
  })

  test('with that policy and a restart policy is begun again', async () => {
    const { uuid } = await agent('hang', '{ silent: off, stalled: 4s, policy: restart }', { restart: { type: 'on-failure', backoff: { initialMs: 1 } } })
    await daemon.untilSo(uuid, ({ pid, state }) => pid > 1 && state === 'running')
    expect((await daemon.history(uuid)).find(({ fact }) => fact === 'process.resumed')).toMatchObject({ by: 'system', restart: { attempt: 1, cause: expect.stringMatching(/^stalled/) as string } })
    await daemon.signal(uuid, 'SIGKILL')
    await daemon.ended(uuid)
  })
})

describe('our own agents', () => {
  // The call that was asked for together with the last result is on its way by then: it is finished, and nothing follows it.
  test('one that does the same again and again is suspended with the evidence; a person\'s resume gives it a new count', async () => {
    const items = [...Array.from({ length: 8 }, () => call('ls', {})), { text: 'done' }]
    const { uuid } = await daemon.play(items)
    const held = await daemon.until(uuid, 'suspended')
    expect(held).toMatchObject({ step: 6, holds: [{ reason: 'loop', by: 'system' }] })
    expect(held.note).toMatch(/^paused: loop \(5 times the same, with the same results: ls\)/)
    const [evidence] = (await daemon.history(uuid)).filter(({ fact }) => fact === 'liveness.looping')
    expect(evidence).toMatchObject({ type: 'liveness.looping', times: 5, calls: [{ name: 'ls', input: '{}' }] })
    await daemon.resume(uuid)
    expect(await daemon.ended(uuid)).toMatchObject({ status: 'completed', step: 9 })
  })

  test('one that goes round between two tools that fail is suspended by the breaker', async () => {
    const items = [...Array.from({ length: 12 }, (_, index) => call(index % 2 === 0 ? 'read' : 'edit', { path: `no-${index}`, ...(index % 2 === 0 ? {} : { old: 'a', new: 'b' }) })), { text: 'done' }]
    const { uuid } = await daemon.play(items)
    const held = await daemon.until(uuid, 'suspended')
    expect(held).toMatchObject({ step: 9, holds: [{ reason: 'breaker' }] })
    expect(held.note).toMatch(/8 of the last 8 tool calls failed: read 4, edit 4/)
    await daemon.signal(uuid, 'SIGKILL')
    await daemon.ended(uuid)
  })

  test('looking again at something that changes, and thresholds that are off, are let be', async () => {
    const items = [...Array.from({ length: 7 }, () => call('bash', { command: 'date +%s%N' })), { text: 'done' }]
    expect(await daemon.ended((await daemon.play(items)).uuid)).toMatchObject({ status: 'completed', step: 8 })
    const same = [...Array.from({ length: 7 }, () => call('ls', {})), { text: 'done' }]
    const free = agentFile('free', 'driver: native', '{ loop: off, errors: off }')
    expect(await daemon.ended((await daemon.play(same, { agent: free })).uuid)).toMatchObject({ status: 'completed', step: 8 })
  })

  test('a long tool that prints gets no word, one that does not is silent', async () => {
    const honest = agentFile('honest', 'driver: native', '{ silent: 3s, stalled: 3s }')
    const { uuid } = await daemon.play([call('bash', { command: 'for i in $(seq 40); do echo $i; sleep 0.1; done' }), { text: 'done' }], { agent: honest })
    const quiet = await daemon.play([call('bash', { command: `sleep ${token}` }), { text: 'done' }], { agent: agentFile('quiet', 'driver: native', '{ silent: 2s }') })
    expect((await word(quiet.uuid, 'silent')).liveness?.evidence).toBe('in bash of step 1')
    expect(await daemon.ended(uuid)).toMatchObject({ status: 'completed' })
    expect(await words(uuid)).toEqual([])
    await daemon.signal(quiet.uuid, 'SIGKILL')
    await daemon.ended(quiet.uuid)
  })
})
