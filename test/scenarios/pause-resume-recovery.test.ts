// The reference of pause, resume and recovery, sentence by sentence, with `reeve` as its program. Covers the meaning of dead, the states,
// the pause of a process and of a tree, the commands. Each test is named by the sentence, row or line of the reference that it checks.
// The ways to continue are in pause-resume-recovery-resume.test.ts, persistence in pause-resume-recovery-persistence.test.ts.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { HeartbeatView } from '../../src/api/views/heartbeat.ts'
import type { EventView } from '../../src/api/views/daemon.ts'
import type { ProcessView } from '../../src/api/views/process.ts'
import type { Status } from '../../src/kernel/model/status.ts'
import { runCli, type CliResult } from '../support/daemon/cli.ts'
import { DaemonHome } from '../support/daemon/daemon-home.ts'
import { TranscriptPlayer } from '../support/kernel/transcript.ts'
import { findProcessesWith, newToken } from '../support/living-processes.ts'
import { waitUntil } from '../support/wait-until.ts'
import { LocalDaemon } from '../support/daemon/local-daemon.ts'
import { startPausedBesideStalled } from '../support/agents/paused-and-stalled.ts'

let daemon: LocalDaemon
beforeAll(async () => {
  daemon = await LocalDaemon.start()
})
afterAll(async () => {
  await daemon[Symbol.asyncDispose]()
  expect(daemon.errors).toEqual([])
})

const isFact =
  (fact: string) =>
  (event: EventView): boolean =>
    event['fact'] === fact
const bashCall = (command: string): object => ({ tools: [{ name: 'bash', input: { command } }] })
const reeve = (...args: string[]): Promise<CliResult> => runCli(daemon.home, args, { env: { LANG: 'C.UTF-8' } })
const lastDigits = (uuid: string): string => uuid.slice(-8)
const factsOf = (events: readonly EventView[], fact: string): EventView[] => events.filter(isFact(fact))

/** Makes a player that has played this script. */
function playScript(script: string): TranscriptPlayer {
  const player = new TranscriptPlayer()
  player.play(script)
  return player
}

/** Starts a process that waits for messages, and answers each. */
async function startChat(name: string, parent?: ProcessView): Promise<ProcessView> {
  const { uuid } = await daemon.spawnScripted([{ text: 'one' }, { text: 'two' }, { text: 'three' }], {
    interactive: true,
    name,
    ...(parent ? { parent: parent.uuid } : {}),
  })
  return daemon.waitUntilReady(uuid)
}

/** Starts the tree of the reference: an orchestrator with a coder, a reviewer and a researcher, which is paused. */
async function startTree(prefix: string): Promise<{ all: ProcessView[]; names: string[]; statuses: () => Promise<Status[]> }> {
  const names = ['orchestrator', 'coder', 'reviewer', 'researcher'].map((name) => `${prefix}-${name}`)
  const root = await startChat(names[0] ?? '')
  const views = [root]
  for (const name of names.slice(1)) views.push(await startChat(name, root))
  await daemon.pause(names[3] ?? '')
  return { all: views, names, statuses: async () => Promise.all(views.map(async ({ uuid }) => (await daemon.view(uuid)).status)) }
}

describe('the document', () => {
  test('processes can be suspended mid-execution, persisted across daemon restarts, and resumed from disk, dead ones too', async () => {
    const { uuid } = await daemon.spawnScripted([{ ...bashCall('echo one'), delay_ms: 2_000 }, { text: 'done' }, { text: 'more' }])
    await daemon.waitForEvent(uuid, isFact('model.started'))
    await daemon.pause(uuid)
    await daemon.waitForEvent(uuid, isFact('process.drained'))
    await daemon.restart()
    expect((await daemon.view(uuid)).status).toBe('suspended')
    await daemon.resume(uuid)
    expect(await daemon.waitForEnd(uuid)).toMatchObject({ status: 'completed', lastText: 'done', step: 2 })
    await daemon.resume(uuid, { message: 'and on' })
    expect(await daemon.waitForEnd(uuid)).toMatchObject({ turn: 2, status: 'completed', lastText: 'more' })
  })
})

describe('design philosophy', () => {
  test('dead is a frozen state: the data of a process stays on disk until garbage collection cleans it up', async () => {
    const { uuid } = await daemon.spawnScripted([bashCall('echo kept'), { text: 'done' }], { name: 'frozen' })
    await daemon.waitForEnd(uuid)
    await daemon.restart()
    expect((await reeve('steps', 'frozen')).stdout).toContain('echo kept')
    expect((await reeve('rm', 'frozen')).code).toBe(0)
    expect(await reeve('steps', 'frozen')).toMatchObject({ code: 3, stderr: expect.stringContaining('was removed at') as string })
  })

  test('any dead, zombie or suspended process can be revived by `reeve resume`', async () => {
    const { uuid } = await startChat('revived')
    await daemon.pause(uuid)
    expect(await reeve('resume', '-d', 'revived')).toMatchObject({ code: 0, stderr: expect.stringContaining('(revived) ready') as string })
    // At its end a process is a zombie, which is reaped first.
    for (const isMatch of [({ state }: ProcessView) => state !== 'running', ({ state }: ProcessView) => state === 'dead']) {
      await daemon.signal(uuid, 'SIGKILL')
      await daemon.waitForView(uuid, isMatch)
      expect(await reeve('resume', '-d', 'revived')).toMatchObject({
        code: 0,
        stderr: expect.stringContaining(`| resumed from ${lastDigits(uuid)}`) as string,
      })
      await daemon.waitUntilReady(uuid)
    }
    await daemon.signal(uuid, 'SIGKILL')
  })

  test('daemon crashes, kills and natural completions leave a complete trail, and a way to continue', async () => {
    await using home = await DaemonHome.create()
    await home.start()
    const completedProcess = await home.spawn({
      model: home.writeScript([{ tools: [{ name: 'ls', input: {} }] }, { text: 'done' }]),
      name: 'done',
    })
    await home.waitForEnd(completedProcess.uuid)
    const killedProcess = await home.spawn({ model: home.writeScript([{ text: 'ready' }]), interactive: true, name: 'killed' })
    const crashed = await home.spawn({ model: home.writeScript([{ text: 'ready' }]), interactive: true, name: 'crashed' })
    for (const { uuid } of [killedProcess, crashed]) await home.waitForView(uuid, ({ status }) => status === 'ready')
    await home.signal(killedProcess.uuid, { signal: 'SIGKILL' })
    await home.waitForEnd(killedProcess.uuid)
    await home.kill()
    await home.start()
    expect((await home.listProcesses()).map(({ name, status }) => [name, status])).toEqual(
      expect.arrayContaining([
        ['done', 'completed'],
        ['killed', 'stopped'],
        ['crashed', 'interrupted'],
      ]),
    )
    const rows = (await runCli(home.path, ['list-resumable', '--json'])).stdout
    const modes = (JSON.parse(rows) as { processes: { name: string; modes: { continue: string | null; fork: string | null } }[] }).processes
    expect(modes.map(({ name, modes: { continue: why, fork } }) => [name, why, fork]).toSorted()).toEqual([
      ['crashed', null, null],
      ['done', null, null],
      ['killed', null, null],
    ])
    for (const name of ['done', 'killed', 'crashed'])
      expect((await runCli(home.path, ['resume', '-d', name, ...(name === 'done' ? ['--message', 'go on'] : [])])).code).toBe(0)
  })

  test('key principle: resume is not a state transition, it builds a new incarnation from history; created → running → zombie → dead stays as it is', () => {
    const player = playScript('.live a\nreport a ended 1\nreleased a')
    expect(player.world.row('a')?.life.state).toBe('dead')
    const transcript = player.play('resume a message\nstart a\nreport a up\nreport a ended 2\nreleased a')
    expect(transcript).toContain('process.resumed #2 by user')
    expect(transcript.match(/== a \w+/g)).toEqual(['== a pending', '== a starting', '== a working', '== a zombie', '== a completed'])
  })
})

describe('process states', () => {
  test('created: allocated, not yet started; there is nothing to resume', () => {
    const player = playScript('.spawn a')
    expect(player.world.row('a')?.life.state).toBe('created')
    expect(player.play('resume a')).toContain('0 affected: it was not suspended')
  })

  test('running: the reasoning loop is active, live in the table; a resume has nothing to do', async () => {
    const { uuid, pid } = await startChat('runs')
    expect(await reeve('resume', '-d', 'runs')).toEqual({ code: 0, stdout: '', stderr: `PID ${pid} (runs) ready; it was not suspended\n` })
    expect((await reeve('ps')).stdout).toContain(lastDigits(uuid))
    await daemon.signal(uuid, 'SIGKILL')
  })

  test.each([
    ['suspended: the loop is blocked', 'signal SIGPAUSE a', 'suspended', 'process.released user/user'],
    ['dead: reaped, removed from the table', 'report a exited 0\nreleased a', 'completed', 'process.resumed #2 by user'],
  ])('%s; `reeve resume`', (_, script, status, outcome) => {
    const player = playScript('.live a')
    expect(player.play(script)).toContain(`== a ${status}`)
    expect(player.world.table.get('a') === undefined).toBe(status === 'completed')
    expect(player.play('resume a')).toContain(outcome)
  })

  test('zombie: reasoning has ended, it awaits the reaper; `reeve resume` comes after that', () => {
    const player = playScript('.live a\nreport a exited 0')
    expect(player.play('resume a')).toContain('refused CONFLICT: process 1 is still being released')
    expect(player.play('released a\nresume a')).toContain('process.resumed #2 by user')
  })

  test('departure: suspended, zombie and dead stand in one store; `reeve export` writes steps/<uuid>/', async () => {
    const { uuid } = await startChat('written')
    await daemon.pause(uuid)
    const { code, stdout } = await reeve('export', 'written', daemon.work)
    expect([code, stdout]).toEqual([0, `${daemon.work}/steps/${uuid}\n`])
    await daemon.signal(uuid, 'SIGKILL')
  })
})

describe('SIGPAUSE and SIGRESUME', () => {
  test('reeve pause <pid>: a single process', async () => {
    const root = await startChat('lone')
    const child = await startChat('lone-child', root)
    const { code, stderr } = await reeve('pause', String(root.pid))
    expect([code, stderr]).toEqual([0, `PID ${root.pid} (lone) ⏸ suspended\n`])
    expect([(await daemon.view(root.uuid)).status, (await daemon.view(child.uuid)).status]).toEqual(['suspended', 'ready'])
  })

  test('reeve pause --subtree <pid>: process and all descendants', async () => {
    const root = await startChat('top')
    const child = await startChat('middle', root)
    const grandchild = await startChat('bottom', child)
    const { code, stderr } = await reeve('pause', '--subtree', String(root.pid))
    expect([code, stderr]).toEqual([0, `PID ${root.pid} (top) ⏸ suspended; 3 processes in all\n`])
    for (const { uuid } of [root, child, grandchild]) expect((await daemon.view(uuid)).status).toBe('suspended')
  })

  test('reeve resume <uuid>: from persisted state', async () => {
    const { uuid, pid } = await startChat('persisted')
    await daemon.pause(uuid)
    const { code, stderr } = await reeve('resume', '-d', uuid)
    expect([code, stderr]).toEqual([0, `PID ${pid} (persisted) ready\n`])
  })

  test('when paused, the loop blocks at the next I/O boundary: the process remains running, and is paused', async () => {
    const { uuid } = await daemon.spawnScripted([{ ...bashCall('echo never'), delay_ms: 2_000 }, { text: 'done' }])
    await daemon.waitForEvent(uuid, isFact('model.started'))
    await daemon.pause(uuid)
    await daemon.waitForEvent(uuid, isFact('process.drained'))
    expect(await daemon.view(uuid)).toMatchObject({ state: 'running', status: 'suspended', pausedAt: expect.any(String) as string })
    // The call in flight was paid for and is recorded; its tool has not begun.
    expect(factsOf(await daemon.readHistory(uuid), 'model.finished')).toHaveLength(1)
    expect(factsOf(await daemon.readHistory(uuid), 'tool.finished')).toHaveLength(0)
    await daemon.resume(uuid)
    expect((await daemon.waitForEnd(uuid)).lastText).toBe('done')
  })

  test('the elapsed time counter freezes', async () => {
    const { uuid } = await startChat('clock')
    await daemon.pause(uuid)
    const { elapsedMs } = await daemon.view(uuid)
    await daemon.restart()
    expect((await daemon.view(uuid)).elapsedMs).toBe(elapsedMs)
  })

  test('heartbeat monitoring skips paused processes (they intentionally stop sending heartbeats)', async () => {
    const { uuid } = await startPausedBesideStalled(daemon)
    const { stdout } = await reeve('heartbeat', 'status', '--json')
    const { processes } = JSON.parse(stdout) as HeartbeatView
    expect(processes.find((each) => each.uuid === uuid)).toMatchObject({ status: 'suspended', word: null })
    await daemon.signal(uuid, 'SIGKILL')
  })
})

describe('subtree operations', () => {
  test('$ reeve pause --subtree 1: pauses PID 1, 2, 3; PID 4 is suspended already', async () => {
    const {
      all: [root],
      names,
      statuses,
    } = await startTree('a')
    expect(await statuses()).toEqual(['ready', 'ready', 'ready', 'suspended'])
    const { stderr } = await reeve('pause', '--subtree', names[0] ?? '')
    expect(stderr).toBe(`PID ${root?.pid} (${names[0]}) ⏸ suspended; 4 processes in all\n`)
    expect(await statuses()).toEqual(Array.from({ length: 4 }, () => 'suspended'))
    // A process that was paused on its own has both holds, and stays suspended when the tree resumes.
    expect((await reeve('resume', '-d', '--subtree', names[0] ?? '')).code).toBe(0)
    expect(await statuses()).toEqual(['ready', 'ready', 'ready', 'suspended'])
  })

  test('all members paused, ancestors aware of the reason', async () => {
    const {
      all: [root, coder, reviewer, researcher],
      names,
    } = await startTree('b')
    await daemon.pause(names[1] ?? '')
    expect(
      await daemon.waitForEvent(root?.uuid ?? '', (event) => event.type === 'child.suspended' && event['child'] === coder?.uuid),
    ).toMatchObject({ reason: 'user', by: 'user' })
    const { stdout } = await reeve('inspect', names[0] ?? '')
    expect(stdout).toMatch(
      new RegExp(
        `^suspended below +PID ${coder?.pid} \\(${names[1]}\\) suspended by user\n +PID ${researcher?.pid} \\(${names[3]}\\) suspended by user$`,
        'm',
      ),
    )
    await daemon.pause(names[0] ?? '', { subtree: true })
    expect((await reeve('inspect', names[0] ?? '')).stdout).toContain(`PID ${reviewer?.pid} (${names[2]}) suspended: subtree by user`)
  })

  test('resume propagates upward: resuming a descendant wakes the ancestor chain, so that the orchestrator can go on managing its subtree', async () => {
    const { all, names, statuses } = await startTree('c')
    await daemon.pause(all[0]?.uuid ?? '', { subtree: true })
    const { code, stderr } = await reeve('resume', '-d', names[1] ?? '')
    expect([code, stderr]).toEqual([0, `PID ${all[1]?.pid} (${names[1]}) ready; 2 processes in all\n`])
    expect(await statuses()).toEqual(['ready', 'ready', 'suspended', 'suspended'])
    await daemon.send(names[0] ?? '', 'manage')
    expect(await daemon.waitForView(all[0]?.uuid ?? '', ({ turn, status }) => turn === 1 && status === 'ready')).toMatchObject({
      lastText: 'one',
    })
  })
})

describe('IPC commands', () => {
  const readHelp = async (verb: string): Promise<string> => (await reeve('help', verb)).stdout

  test.each([
    ['reeve pause <pid>', 'pause', /^reeve pause .*P\.\.\.$/m],
    ['reeve pause --subtree <pid>', 'pause', /--subtree/],
    ['reeve resume <uuid>', 'resume', /^reeve resume .*P$/m],
    ['reeve resume --fork <uuid>', 'resume', /--fork\b/],
    ['reeve resume --fork --from-step N <uuid>', 'resume', /--fork \[--from-step N\]/],
    ['reeve compose resume --node <name>: resume a compose DAG node', 'compose resume', /^reeve compose resume --node NAME .*\[RUN\]$/m],
    ['reeve list-resumable', 'list-resumable', /list the processes that can be resumed/],
    ['reeve gc', 'gc', /collect ended processes/],
  ])('%s', async (_, verb, line) => {
    expect((await readHelp(verb)).replace(/^ +(?=reeve)/gm, '')).toMatch(line)
  })

  test('SIGPAUSE freezes a program as a whole, and nothing is left behind when it is killed', async () => {
    const token = newToken()
    const { uuid } = await daemon.spawnShell(`sleep ${token} & sleep ${token}`)
    await waitUntil(() => findProcessesWith(token).filter(({ argv }) => argv[0] === 'sleep').length === 2, 'both sleep')
    expect((await reeve('pause', uuid)).code).toBe(0)
    await daemon.signal(uuid, 'SIGKILL')
    await daemon.waitForEnd(uuid)
    expect(findProcessesWith(token)).toEqual([])
  })
})
