// The states of liveness with real programs and a real daemon: stopped from outside, silent, looping, waiting, failing repeatedly.
// Also healthy processes, which get no state. Thresholds are short; the tests wait for results, not for times.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { HeartbeatView } from '../../../src/api/views/heartbeat.ts'
import type { ProcessView, SpawnBody } from '../../../src/api/views/process.ts'
import { runCli } from '../../support/daemon/cli.ts'
import { findWorkingKinds } from '../../support/agents/containment-harness.ts'
import { killRemaining, findProcessesWith, newToken, findOwnProcess, signalFound } from '../../support/living-processes.ts'
import { waitUntil } from '../../support/wait-until.ts'
import { LocalDaemon } from '../../support/daemon/local-daemon.ts'
import type { ContainmentKind } from '../../../src/kernel/model/words.ts'

const PROGRAM = fileURLToPath(new URL('../../support/programs/acp-agent.ts', import.meta.url))
const KINDS = await findWorkingKinds()

let daemon: LocalDaemon
let token: string

beforeEach(async () => {
  daemon = await LocalDaemon.start({ config: 'liveness: { stopped: 500ms }\n' })
  token = newToken()
})
afterEach(async () => {
  await daemon[Symbol.asyncDispose]()
  killRemaining(token)
  expect(daemon.errors).toEqual([])
})

/** An external agent with its own thresholds. */
async function spawnAgent(intent: string, liveness: string, body: Partial<SpawnBody> = {}): Promise<ProcessView> {
  const argv = [process.execPath, PROGRAM, token, `sessions=${daemon.work}`]
  return daemon.spawn({ agent: writeAgentFile('fake', `driver: acp\ncommand: ${JSON.stringify(argv)}`, liveness), intent, ...body })
}

function writeAgentFile(name: string, frontMatter: string, liveness: string): string {
  mkdirSync(daemon.paths.agentsDir, { recursive: true })
  writeFileSync(join(daemon.paths.agentsDir, `${name}.md`), `---\n${frontMatter}\nliveness: ${liveness}\n---\n`)
  return name
}

const waitForLiveness = (uuid: string, state: string | null): Promise<ProcessView> =>
  daemon.waitForView(uuid, ({ liveness }) => (liveness?.word ?? null) === state)
const readLivenessFacts = async (uuid: string): Promise<unknown[]> =>
  (await daemon.readHistory(uuid)).filter(({ fact }) => fact === 'liveness.changed').map((event) => event['word'])
const isSleep = ({ argv }: { readonly argv: readonly string[] }): boolean => argv[0]?.endsWith('sleep') === true
const call = (name: string, input: object): object => ({ tools: [{ name, input }] })

describe('a process is `stopped`', () => {
  test.each(KINDS)('while the program of a command is stopped from outside (%s)', async (containment: ContainmentKind) => {
    const { uuid } = await daemon.spawn({ argv: ['sleep', token], containment })
    await daemon.waitForStatus(uuid, 'working')
    await waitUntil(() => findProcessesWith(token).some(isSleep), 'it runs')
    const [sleeper] = findProcessesWith(token).filter(isSleep)
    signalFound(sleeper, 'SIGSTOP')
    const view = await waitForLiveness(uuid, 'stopped')
    expect(view.liveness?.evidence).toBe(`OS pid ${sleeper?.pid}`)
    expect(view.note).toMatch(/^stopped since \d\d:\d\d, OS pid \d+$/)
    signalFound(sleeper, 'SIGCONT')
    await waitForLiveness(uuid, null)
    await daemon.signal(uuid, 'SIGKILL')
    await daemon.waitForEnd(uuid)
    expect(await readLivenessFacts(uuid)).toEqual(['stopped', 'alive'])
  })

  test('while a program for which a shell waits is stopped from outside', async () => {
    const { uuid } = await daemon.spawnShell(`sleep ${token}; true`)
    await waitUntil(() => findProcessesWith(token).some(isSleep), 'it runs')
    signalFound(findProcessesWith(token).find(isSleep), 'SIGSTOP')
    await waitForLiveness(uuid, 'stopped')
    await daemon.signal(uuid, 'SIGKILL')
    await daemon.waitForEnd(uuid)
  })

  test('while the program of a tool is stopped from outside', async () => {
    const { uuid } = await daemon.spawnScripted([call('bash', { command: `sleep ${token}` }), { text: 'done' }])
    await waitUntil(() => findProcessesWith(token).some(isSleep), 'it runs')
    for (const program of findProcessesWith(token)) signalFound(program, 'SIGSTOP')
    await waitForLiveness(uuid, 'stopped')
    await daemon.signal(uuid, 'SIGKILL')
    await daemon.waitForEnd(uuid)
  })

  test('but not during a pause by reeve: the process is suspended, without a state of liveness', async () => {
    const { uuid } = await daemon.spawn({ argv: ['sleep', token], containment: 'group' })
    const other = await daemon.spawn({ argv: ['sleep', token], containment: 'group' })
    await waitUntil(() => findProcessesWith(token).filter(isSleep).length === 2, 'they run')
    await daemon.pause(uuid, { now: true })
    await daemon.waitForEvent(uuid, ({ fact }) => fact === 'process.frozen')
    // The other process is stopped now and found. By then the first has been checked as well.
    const { handle } = (await daemon.waitForEvent(other.uuid, ({ fact }) => fact === 'process.handle')) as unknown as {
      readonly handle: { readonly pid: number }
    }
    signalFound(findOwnProcess(handle.pid, daemon.home), 'SIGSTOP')
    await waitForLiveness(other.uuid, 'stopped')
    expect(await readLivenessFacts(uuid)).toEqual([])
    for (const each of [uuid, other.uuid]) await daemon.signal(each, 'SIGKILL')
    for (const each of [uuid, other.uuid]) await daemon.waitForEnd(each)
  })
})

describe('an external agent', () => {
  test('without output is silent, and then stalled; its view, the heartbeat and the command line show it', async () => {
    const { uuid } = await spawnAgent('hang', '{ silent: 4s, stalled: 6s }')
    await waitForLiveness(uuid, 'silent')
    expect((await waitForLiveness(uuid, 'stalled')).note).toMatch(/^stalled since \d\d:\d\d/)
    const { processes } = await daemon.client.get<HeartbeatView>('/v1/heartbeat')
    expect(processes).toMatchObject([
      { uuid, word: 'stalled', status: 'working', thresholds: { silentMs: 4_000, stalledMs: 6_000, waitingMs: 600_000, policy: 'warn' } },
    ])
    expect(processes[0]?.quietMs).toBeGreaterThanOrEqual(6_000)
    const heartbeat = await runCli(daemon.home, ['heartbeat', 'status'])
    expect(heartbeat).toMatchObject({ code: 0, stderr: '' })
    expect(heartbeat.stdout).toMatch(/PID.*LIVENESS.*QUIET/)
    expect(heartbeat.stdout).toMatch(/working +stalled/)
    await daemon.signal(uuid, 'SIGKILL')
    await daemon.waitForEnd(uuid)
    expect((await readLivenessFacts(uuid)).slice(-2)).toEqual(['silent', 'stalled'])
  })

  test('that waits for the user shows it after its own threshold, and is neither silent nor stalled', async () => {
    const { uuid } = await spawnAgent('ask execute rm x\nsay thanks', '{ silent: 100ms, stalled: 100ms, waiting: 1s }', {
      interactive: true,
    })
    await daemon.waitForStatus(uuid, 'waiting')
    expect((await waitForLiveness(uuid, 'waiting')).note).toMatch(/^asks: rm x/)
    await daemon.client.post(`/v1/processes/${uuid}/answer`, { option: 'yes' })
    await daemon.waitUntilReady(uuid)
    expect((await readLivenessFacts(uuid)).filter((state) => state === 'waiting')).toHaveLength(1)
    await waitForLiveness(uuid, null)
    await daemon.signal(uuid, 'SIGKILL')
    await daemon.waitForEnd(uuid)
  })

  test('with the policy `interrupt` has its turn ended when it stalls', async () => {
    const { uuid } = await spawnAgent('hang', '{ silent: off, stalled: 4s, policy: interrupt }', { interactive: true })
    await daemon.waitForEvent(uuid, (event) => event['fact'] === 'process.ready' && event['outcome'] === 'interrupted')
    expect((await daemon.readHistory(uuid)).find(({ fact }) => fact === 'signal.sent')).toMatchObject({
      signal: 'SIGINT',
      by: 'system',
      via: 'liveness',
    })
    await daemon.signal(uuid, 'SIGKILL')
    await daemon.waitForEnd(uuid)
  })

  test('with the policy `restart` ends as failed when it stalls', async () => {
    const { uuid } = await spawnAgent('hang', '{ silent: off, stalled: 4s, policy: restart }')
    expect(await daemon.waitForEnd(uuid)).toMatchObject({
      status: 'failed',
      exit: { code: 1, reason: expect.stringMatching(/^stalled/) as string },
    })
    expect((await readLivenessFacts(uuid)).at(-1)).toBe('stalled')
  })

  test('with the policy `restart` and a restart policy is restarted when it stalls', async () => {
    const { uuid } = await spawnAgent('hang', '{ silent: off, stalled: 4s, policy: restart }', {
      restart: { type: 'on-failure', backoff: { initialMs: 1 } },
    })
    await daemon.waitForView(uuid, ({ pid, state }) => pid > 1 && state === 'running')
    expect((await daemon.readHistory(uuid)).find(({ fact }) => fact === 'process.resumed')).toMatchObject({
      by: 'system',
      restart: { attempt: 1, cause: expect.stringMatching(/^stalled/) as string },
    })
    await daemon.signal(uuid, 'SIGKILL')
    await daemon.waitForEnd(uuid)
  })
})

describe('native agents', () => {
  // The model call after the last result is already in flight: it completes, and nothing follows it.
  test("an agent in a loop is warned, and then suspended with the evidence; the user's resume starts a new count", async () => {
    const items = [...Array.from({ length: 15 }, () => call('ls', {})), { text: 'done' }]
    const { uuid } = await daemon.spawnScripted(items)
    const heldView = await daemon.waitForStatus(uuid, 'suspended')
    expect(heldView).toMatchObject({ step: 13, holds: [{ reason: 'loop', by: 'system' }] })
    expect(heldView.note).toMatch(/^paused: loop \(repeated 12 times with the same results: ls \{\}\)/)
    const history = await daemon.readHistory(uuid)
    const evidence = history.filter(({ fact }) => fact === 'liveness.looping')
    expect(evidence).toMatchObject([{ times: 5, told: 12, calls: [{ name: 'ls', input: '{}' }] }, { times: 12 }])
    expect(history.filter(({ fact, id }) => fact === 'process.incoming' && String(id).startsWith('notice-'))).toHaveLength(1)
    await daemon.resume(uuid)
    expect(await daemon.waitForEnd(uuid)).toMatchObject({ status: 'completed', step: 16, note: null })
  })

  test('a call that the hold kept back is not lost by a stop: the next incarnation runs it', async () => {
    const items = [...Array.from({ length: 13 }, () => call('bash', { command: 'echo x >> count; echo same' })), { text: 'done' }]
    const { uuid } = await daemon.spawnScripted(items)
    await daemon.waitForStatus(uuid, 'suspended')
    await daemon.waitForEvent(uuid, ({ type }) => type === 'process.drained')
    const waitForCall = (ending: 'held' | 'not run'): Promise<true> =>
      waitUntil(async () => (await runCli(daemon.home, ['steps', uuid])).stdout.trimEnd().endsWith(ending), `the call is ${ending}`)
    await waitForCall('held')
    await daemon.signal(uuid, 'SIGTERM')
    await daemon.waitForEnd(uuid)
    await waitForCall('not run')
    await daemon.resume(uuid)
    expect(await daemon.waitForEnd(uuid)).toMatchObject({ status: 'completed', step: 14 })
    expect(readFileSync(join(daemon.work, 'count'), 'utf8')).toBe('x\n'.repeat(13))
  })

  test.each([
    ['twelve calls that repeat', Array.from({ length: 12 }, () => call('ls', {}))],
    ['sixteen calls that fail', Array.from({ length: 16 }, (_, index) => call('read', { path: `no-${index}` }))],
  ])('an agent whose final answer arrives when the hold begins completes: %s', async (_, calls) => {
    const { uuid } = await daemon.spawnScripted([...calls, { text: 'I am done' }])
    expect(await daemon.waitForEnd(uuid)).toMatchObject({ status: 'completed', step: calls.length + 1, note: null })
  })

  test('an agent that alternates between two failing tools is suspended by the breaker', async () => {
    const items = [
      ...Array.from({ length: 20 }, (_, index) =>
        call(index % 2 === 0 ? 'read' : 'edit', { path: `no-${index}`, ...(index % 2 === 0 ? {} : { old: 'a', new: 'b' }) }),
      ),
      { text: 'done' },
    ]
    const { uuid } = await daemon.spawnScripted(items)
    const heldView = await daemon.waitForStatus(uuid, 'suspended')
    expect(heldView).toMatchObject({ step: 17, holds: [{ reason: 'breaker' }] })
    expect(heldView.note).toMatch(/8 of the last 8 tool calls failed: read 4, edit 4/)
    await daemon.signal(uuid, 'SIGKILL')
    await daemon.waitForEnd(uuid)
  })

  test('an agent that repeats a call is not held if the results change, or if its thresholds are off', async () => {
    const items = [...Array.from({ length: 7 }, () => call('bash', { command: 'date +%s%N' })), { text: 'done' }]
    expect(await daemon.waitForEnd((await daemon.spawnScripted(items)).uuid)).toMatchObject({ status: 'completed', step: 8 })
    const repeatedCalls = [...Array.from({ length: 7 }, () => call('ls', {})), { text: 'done' }]
    const uncheckedAgent = writeAgentFile('unchecked', 'driver: native', '{ loop: off, errors: off }')
    expect(await daemon.waitForEnd((await daemon.spawnScripted(repeatedCalls, { agent: uncheckedAgent })).uuid)).toMatchObject({
      status: 'completed',
      step: 8,
    })
  })

  test('a long tool call with output gets no state; one without output is silent', async () => {
    const healthyAgent = writeAgentFile('honest', 'driver: native', '{ silent: 3s, stalled: 3s }')
    const { uuid } = await daemon.spawnScripted(
      [call('bash', { command: 'for i in $(seq 40); do echo $i; sleep 0.1; done' }), { text: 'done' }],
      {
        agent: healthyAgent,
      },
    )
    const quietProcess = await daemon.spawnScripted([call('bash', { command: `sleep ${token}` }), { text: 'done' }], {
      agent: writeAgentFile('quiet', 'driver: native', '{ silent: 2s }'),
    })
    expect((await waitForLiveness(quietProcess.uuid, 'silent')).liveness?.evidence).toBe('in bash of step 1')
    expect(await daemon.waitForEnd(uuid)).toMatchObject({ status: 'completed' })
    expect(await readLivenessFacts(uuid)).toEqual([])
    await daemon.signal(quietProcess.uuid, 'SIGKILL')
    await daemon.waitForEnd(quietProcess.uuid)
  })
})
