// The reference of pause, resume and recovery, second part: the ways to continue. Continue, fork, truncated fork: their output,
// their starting point, and unchanged data. Each test is named by the sentence, row or line of the reference that it checks.
import { existsSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { EventView } from '../../src/api/views/daemon.ts'
import type { ProcessView } from '../../src/api/views/process.ts'
import { runCli, type CliResult } from '../support/daemon/cli.ts'
import { ComposeRuns, stateList } from '../support/compose/compose-runs.ts'
import { DaemonHome, type ScriptAnswer } from '../support/daemon/daemon-home.ts'
import { waitUntil } from '../support/wait-until.ts'
import { LocalDaemon } from '../support/daemon/local-daemon.ts'
import { startModelServer, type ModelServer } from '../support/models/model-server.ts'

let daemon: LocalDaemon
let server: ModelServer
/** the messages of each model request, each with its role */
let modelRequests: string[][] = []
beforeAll(async () => {
  // The model calls a tool until it has done so six times, and then reports the number.
  server = await startModelServer(({ body }) => {
    const messages = body['messages'] as { role: string; content: unknown }[]
    const steps = messages.filter(({ role }) => role === 'assistant').length
    modelRequests.push(messages.map(({ role, content }) => `${role}: ${typeof content === 'string' ? content : JSON.stringify(content)}`))
    return steps < 6
      ? {
          text: `step ${steps + 1}`,
          tools: [
            {
              id: `call-${steps + 1}`,
              name: 'bash',
              input: { command: steps === 5 ? 'echo 6; while [ -e wait ]; do sleep 0.05; done' : `echo ${steps + 1}` },
            },
          ],
        }
      : { text: `after ${steps} steps` }
  })
  daemon = await LocalDaemon.start({ config: `providers: [{ name: served, kind: openai-compatible, baseURL: "${server.url}/v1" }]\n` })
})
beforeEach(() => {
  modelRequests = []
})
afterAll(async () => {
  await daemon[Symbol.asyncDispose]()
  await server[Symbol.asyncDispose]()
  expect(daemon.errors).toEqual([])
})

const reeve = (...args: string[]): Promise<CliResult> => runCli(daemon.home, args)
const lastDigits = (uuid: string): string => uuid.slice(-8)
const STEPS = 7

/** Runs seven steps of a served model, the last one with the final text. */
async function runToEnd(): Promise<ProcessView> {
  return daemon.waitForEnd((await daemon.spawn({ model: 'served/m', intent: 'seven steps', limits: { maxSteps: 20 } })).uuid)
}

const readEvents = async ({ uuid }: { uuid: string }): Promise<EventView[]> => daemon.readHistory(uuid)

describe('resume modes', () => {
  test('continue, `reeve resume <uuid>`: the UUID is preserved', async () => {
    const { uuid, pid } = await runToEnd()
    const { code, stderr } = await reeve('resume', '-d', '--message', 'and now?', uuid)
    const view = await daemon.waitForEnd(uuid)
    expect(view.pid).toBeGreaterThan(pid)
    expect(code).toBe(0)
    expect(stderr.split('\n').at(-2)).toBe(`PID ${view.pid} spawned (served/m) | resumed from ${lastDigits(uuid)}`)
    expect(view).toMatchObject({ uuid, originUuid: null, turn: 2, lastText: `after ${STEPS} steps` })
    expect(modelRequests.at(-1)?.at(-1)).toBe('user: and now?')
  })

  test('fork, `reeve resume --fork <uuid>`: a new UUID and its origin', async () => {
    const origin = await runToEnd()
    const { code, stdout } = await reeve('resume', '-d', '--fork', origin.uuid)
    const uuid = stdout.trim()
    expect([code, uuid]).toEqual([0, expect.stringMatching(/^[\da-f]{8}-[\da-f]{4}-7[\da-f-]+$/) as string])
    expect(uuid).not.toBe(origin.uuid)
    expect(await daemon.waitForEnd(uuid)).toMatchObject({ originUuid: origin.uuid, originStep: STEPS })
  })

  test('truncated fork, `reeve resume --fork --from-step N <uuid>`: a new UUID, to retry from mid-history', async () => {
    const origin = await runToEnd()
    const { stdout } = await reeve('resume', '-d', '--fork', '--from-step', '3', '--message', 'another way', origin.uuid)
    expect(await daemon.waitForEnd(stdout.trim())).toMatchObject({ originUuid: origin.uuid, originStep: 3, usage: { steps: STEPS - 3 } })
    expect(modelRequests[STEPS]?.filter((line) => line.startsWith('assistant'))).toHaveLength(3)
    expect(modelRequests[STEPS]?.at(-1)).toBe('user: another way')
  })

  test('compose node, `reeve compose resume --node <name>`: reuses the above, to recover a node of a DAG', async () => {
    const runs = new ComposeRuns(daemon)
    const wait = join(daemon.work, 'wait')
    writeFileSync(wait, '')
    const { uuid } = await runs.start(
      {
        seven: { model: 'served/m', intent: 'seven steps' },
        after: { command: ['sh', '-c', 'echo "$1" >> said', 'sh', '{{ nodes.seven.result }}'], depends_on: { seven: 'completed' } },
      },
      { name: 'dag' },
    )
    await runs.waitForRun(uuid, ({ nodes }) => nodes[0]?.process?.step === 6)
    const node = await runs.processOf(uuid, 'seven')
    await daemon.signal(node, 'SIGKILL')
    expect(stateList(await runs.waitForEnd(uuid))).toBe('seven cancelled, after blocked')
    rmSync(wait)
    // Continue: the node's UUID is preserved, and its dependents run.
    const { code, stderr } = await reeve('compose', 'resume', 'dag', '--node', 'seven')
    expect([code, stderr]).toEqual([
      0,
      expect.stringMatching(
        new RegExp(`^node seven of run dag: PID \\d+ spawned \\(served/m\\) \\| resumed from ${lastDigits(node)}$`, 'm'),
      ),
    ])
    const end = await runs.waitForEnd(uuid)
    expect(stateList(end)).toBe('seven completed, after completed')
    expect(await daemon.view(node)).toMatchObject({ uuid: node, step: STEPS, status: 'completed' })
    expect(end.nodes[0]?.process?.uuid).toBe(node)
    // Truncated fork: a new UUID in its place, and the completed dependents run again.
    const forked = await reeve('compose', 'resume', 'dag', '--node', 'seven', '--fork', '--from-step', '3')
    expect(forked.code).toBe(0)
    expect(stateList(await runs.waitForEnd(uuid))).toBe('seven completed, after completed')
    expect(await daemon.view(forked.stdout.trim())).toMatchObject({ originUuid: node, originStep: 3, status: 'completed' })
    expect((await runs.read(uuid)).nodes[1]?.process?.uuid).not.toBe(end.nodes[1]?.process?.uuid)
  })
})

describe('continue mode', () => {
  test(
    'the daemon crashes at step 12/20, is started again, and the process continues from its checkpoint (step 10/20)',
    { timeout: 90_000 },
    async () => {
      await using home = await DaemonHome.create()
      await home.start()
      const file = join(home.work, 'effects')
      const bashCall = (command: string): ScriptAnswer => ({ tools: [{ name: 'bash', input: { command } }] })
      const steps = Array.from({ length: 11 }, (_, index) => bashCall(`echo ${index + 1} >> ${file}`))
      const twelfth = join(home.work, 'twelfth')
      const model = home.writeScript([...steps, bashCall(`touch ${twelfth}; sleep 600`), { text: 'I read: {{ lastResult }}' }])
      const { uuid, pid } = await home.spawn({ model, limits: { maxSteps: 20 } })
      await waitUntil(() => existsSync(twelfth), 'step 12 is at work')
      await home.kill()
      const status = await runCli(home.path, ['daemon', 'status'])
      expect(status).toMatchObject({ code: 4, stdout: '' })
      await home.start()
      expect(await home.view(uuid)).toMatchObject({ status: 'interrupted', checkpointStep: 10 })
      const { code, stderr } = await runCli(home.path, ['resume', '-d', uuid])
      const viewAfter = await home.waitForEnd(uuid)
      expect([code, stderr]).toEqual([
        0,
        `resuming ${lastDigits(uuid)} from checkpoint (step 10/20)...\nPID ${viewAfter.pid} spawned (${model}) | resumed from ${lastDigits(uuid)}\n`,
      ])
      expect(viewAfter.pid).toBeGreaterThan(pid)
      // The facts after the checkpoint count as well: steps 11 and 12 are not requested again, and no tool runs twice.
      expect(viewAfter).toMatchObject({ status: 'completed', step: 13, lastText: 'I read: interrupted; it may or may not have happened' })
      await waitUntil(() => home.findLeftovers().length === 0, 'nothing of it is left')
    },
  )

  test('suspended processes: the full context is restored, and the process continues where it was', async () => {
    const wait = join(daemon.work, 'wait')
    writeFileSync(wait, '')
    const { uuid } = await daemon.spawn({ model: 'served/m', intent: 'seven steps' })
    await daemon.waitForEvent(uuid, (event) => event['fact'] === 'tool.started' && event['callId'] === 'call-6')
    await daemon.pause(uuid)
    rmSync(wait)
    await daemon.waitForEvent(uuid, (event) => event['fact'] === 'process.drained')
    await daemon.restart()
    expect(await daemon.view(uuid)).toMatchObject({ status: 'suspended', checkpointStep: 5, step: 6, lastText: 'step 6' })
    expect((await reeve('resume', '-d', uuid)).code).toBe(0)
    expect(await daemon.waitForEnd(uuid)).toMatchObject({ step: STEPS, lastText: 'after 6 steps' })
    // Each request has all messages of the one before it: the context is complete, and no call is made twice.
    expect(modelRequests).toHaveLength(STEPS)
    for (const [index, lines] of modelRequests.slice(1).entries())
      expect(lines.slice(0, modelRequests[index]?.length)).toEqual(modelRequests[index])
  })

  test('dead processes replay the history, which is enough without a checkpoint', async () => {
    const { uuid } = await daemon.spawnScripted([{ text: 'short' }, { text: 'again' }], { name: 'short' })
    await daemon.waitForEnd(uuid)
    expect((await daemon.view(uuid)).checkpointStep).toBeNull()
    const { code, stderr } = await reeve('resume', '-d', '--message', 'more', 'short')
    expect([code, stderr]).toEqual([0, expect.not.stringContaining('checkpoint') as string])
    expect(await daemon.waitForEnd(uuid)).toMatchObject({ turn: 2, lastText: 'again', step: 2 })
  })
})

describe('fork mode', () => {
  test('the original process data is never mutated', async () => {
    const origin = await runToEnd()
    const historyBefore = await readEvents(origin)
    for (const flags of [['--from-step', '0'], ['--from-step', '4'], [], ['--from-checkpoint'], ['--message', 'more']]) {
      const { code, stdout } = await reeve('resume', '-d', '--fork', ...flags, origin.uuid)
      expect([flags, code]).toEqual([flags, 0])
      await daemon.waitForEnd(stdout.trim())
    }
    expect(await readEvents(origin)).toEqual(historyBefore)
    expect(await daemon.view(origin.uuid)).toEqual(origin)
  })

  test('$ reeve resume --fork: prints the origin, the new UUID, and "PID 6 spawned (provider/model) | forked from abc123"', async () => {
    const origin = await runToEnd()
    const { stdout, stderr } = await reeve('resume', '-d', '--fork', origin.uuid)
    const { pid } = await daemon.view(stdout.trim())
    expect(stderr).toBe(
      `forking from ${lastDigits(origin.uuid)} after step ${STEPS} -> new UUID ${lastDigits(stdout.trim())}\nPID ${pid} spawned (served/m) | forked from ${lastDigits(origin.uuid)}\n`,
    )
  })

  test('the lineage is shown: xyz789 (forked from abc123)', async () => {
    const origin = await runToEnd()
    const { uuid } = (await daemon.resume(origin.uuid, { fork: true })).process
    await daemon.waitForEnd(uuid)
    const rows = (await reeve('ps', '-a')).stdout.split('\n').filter((line) => line.includes(lastDigits(uuid)))
    expect(rows).toEqual([expect.stringContaining(`(forked from ${lastDigits(origin.uuid)})`)])
    const lineage = (await reeve('lineage', uuid)).stdout
      .split('\n')
      .find((line) => line.includes(lastDigits(uuid)) && !line.includes(` ${origin.pid} `))
    expect(lineage).toContain(`(forked from ${lastDigits(origin.uuid)} after step ${STEPS})`)
  })
})

describe('truncated fork', () => {
  test('$ reeve resume --fork --from-step 5: replays history up to step 5, then resumes reasoning from step 6', async () => {
    const origin = await runToEnd()
    const { stdout } = await reeve('resume', '-d', '--fork', '--from-step', '5', origin.uuid)
    const fork = await daemon.waitForEnd(stdout.trim())
    const forkSteps = (await readEvents(fork)).filter((event) => event['fact'] === 'model.started').map((event) => event['step'])
    expect(forkSteps).toEqual([6, 7])
    // The request equals the origin's at that step, word for word.
    expect(modelRequests[STEPS]).toEqual(modelRequests[5])
    expect(modelRequests).toHaveLength(STEPS + 2)
    expect((await reeve('steps', fork.uuid)).stdout).toContain('step 1')
  })

  test('departure: --from-step works whatever checkpoints exist; only together with --from-checkpoint it is INVALID', async () => {
    const origin = await runToEnd()
    expect(origin.checkpointStep).toBe(5)
    for (const step of [4, 5, 6]) {
      const { code, stdout } = await reeve('resume', '-d', '--fork', '--from-step', String(step), origin.uuid)
      expect([step, code]).toEqual([step, 0])
      await daemon.waitForEnd(stdout.trim())
    }
    expect(await reeve('resume', '-d', '--fork', '--from-step', '5', '--from-checkpoint', origin.uuid)).toMatchObject({
      code: 64,
      stderr: expect.stringContaining('--from-step and --from-checkpoint exclude each other') as string,
    })
    await expect(daemon.resume(origin.uuid, { fork: true, fromStep: 5, fromCheckpoint: true })).rejects.toMatchObject({ code: 'INVALID' })
  })

  test('an unknown step is INVALID, with the real range', async () => {
    const origin = await runToEnd()
    expect(await reeve('resume', '-d', '--fork', '--from-step', '8', origin.uuid)).toMatchObject({
      code: 64,
      stderr: expect.stringMatching(/0 to 7/) as string,
    })
  })
})
