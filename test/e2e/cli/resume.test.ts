// `reeve resume --fork`, `list-resumable`, `lineage` and `resume --all-interrupted` as the user types them, against real daemons.
import { rmSync } from 'node:fs'
import { resolve } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { runCli, type CliResult } from '../../support/daemon/cli.ts'
import { DaemonHome } from '../../support/daemon/daemon-home.ts'
import { LocalDaemon } from '../../support/daemon/local-daemon.ts'
import { HAS_TERMINAL, Terminal } from '../../support/daemon/terminal.ts'

const bashCall = (command: string): object => ({ tools: [{ name: 'bash', input: { command } }] })
const SIX_CALLS = [bashCall('echo 1'), bashCall('echo 2'), bashCall('echo 3'), bashCall('echo 4'), bashCall('echo 5'), { text: 'six' }]

async function startLocal(): Promise<{ daemon: LocalDaemon; reeve: (...args: string[]) => Promise<CliResult> }> {
  const daemon = await LocalDaemon.start()
  onTestFinished(async () => {
    await daemon[Symbol.asyncDispose]()
    expect(daemon.errors).toEqual([])
  })
  return { daemon, reeve: (...args) => runCli(daemon.home, args) }
}

describe('a fork', () => {
  test('is reported on stderr, and its UUID is printed on stdout', async () => {
    const { daemon, reeve } = await startLocal()
    const origin = await daemon.spawnScripted(SIX_CALLS, { name: 'docs' })
    await daemon.waitForEnd(origin.uuid)
    const { code, stdout, stderr } = await reeve('resume', '-d', '--fork', '--from-step', '0', 'docs')
    const uuid = stdout.trim()
    const originRef = origin.uuid.slice(-8)
    expect([code, stderr]).toEqual([
      0,
      `forking from ${originRef} after step 0 -> new UUID ${uuid.slice(-8)}\nPID 2 spawned (${origin.model}) | forked from ${originRef}\n`,
    ])
    expect(await daemon.waitForEnd(uuid)).toMatchObject({ originUuid: origin.uuid, originStep: 0, step: 6, lastText: 'six' })
    expect((await reeve('inspect', uuid)).stdout).toContain(`forked from  ${origin.uuid} at step 0`)
    expect((await reeve('ps', '-a')).stdout).toContain(`(forked from ${originRef})`)
  })

  test('with options that exclude each other is a usage error', async () => {
    const { reeve } = await startLocal()
    for (const flags of [['--from-step', '2'], ['--fork', '--from-step', '2', '--from-checkpoint'], ['--with-files'], ['--yes']]) {
      expect([flags, (await reeve('resume', '-d', ...flags, '1')).code]).toEqual([flags, 64])
    }
    expect((await reeve('resume')).code).toBe(64)
    expect((await reeve('resume', '-d', '--from-step', '2', '1')).stderr).toContain('--from-step needs --fork')
  })
})

test('a resume of a completed process needs a message, and reports that', async () => {
  const { daemon, reeve } = await startLocal()
  const { uuid, pid } = await daemon.spawnScripted([{ text: 'one' }, { text: 'two' }], { name: 'docs' })
  await daemon.waitForEnd(uuid)
  const refusal = await reeve('resume', '-d', 'docs')
  expect([refusal.code, refusal.stderr]).toEqual([
    1,
    expect.stringContaining(`reeve: PID ${pid} (docs) has completed\n       Give the next task: \`reeve resume --message TEXT ${pid}\``),
  ])
  expect((await daemon.view(uuid)).pid).toBe(pid)
  expect((await reeve('resume', '-d', '--message', 'more', 'docs')).code).toBe(0)
  expect((await daemon.waitForEnd(uuid)).lastText).toBe('two')
})

test.skipIf(!HAS_TERMINAL)('on a terminal `resume` follows the process from the resume on, unless -d is given', async () => {
  const { daemon } = await startLocal()
  const { uuid } = await daemon.spawnScripted(
    [{ text: 'the first' }, bashCall('echo again'), { text: 'the second' }, { text: 'the third' }, { text: 'the fourth' }],
    { name: 'docs' },
  )
  await daemon.waitForEnd(uuid)
  using seen = new Terminal(daemon.home, ['resume', '--message', 'more', 'docs'])
  expect(await seen.exitCode).toBe(0)
  // The terminal wraps text that is longer than its width.
  expect(seen.text).toMatch(/resumed\sfrom\s[^]*echo\sagain[^]*the second[^]*completed/)
  expect(seen.text).not.toContain('the first')
  using left = new Terminal(daemon.home, ['resume', '-d', '--message', 'more', 'docs'])
  expect([await left.exitCode, left.text]).toEqual([0, expect.not.stringContaining('the third')])
  await daemon.waitForEnd(uuid)
  using fork = new Terminal(daemon.home, ['resume', '--fork', '--message', 'more', 'docs'])
  expect(await fork.exitCode).toBe(0)
  expect(fork.text).toMatch(/forked\sfrom\s[^]*the\sfourth[^]*completed/)
  expect(fork.text).not.toContain('the third')
})

test('without a terminal `resume` follows the process, too: its text is the output, and its end is the exit code', async () => {
  const { daemon, reeve } = await startLocal()
  const { uuid, pid } = await daemon.spawnScripted([{ text: 'the first' }, { text: 'the second' }, { text: 'of the fork' }], {
    name: 'docs',
  })
  await daemon.waitForEnd(uuid)
  const seen = await reeve('resume', '--message', 'more', 'docs')
  expect(seen).toMatchObject({ code: 0, stdout: 'the second\n', stderr: expect.stringContaining('resumed from') as string })
  const fork = await reeve('resume', '--fork', '--message', 'again', 'docs')
  expect(fork).toMatchObject({ code: 0, stdout: 'of the fork\n', stderr: expect.stringContaining('forked from') as string })
  const { pid: failing } = await daemon.spawnShell('exit 3')
  await daemon.waitForEnd(String(failing))
  expect((await reeve('resume', '--rerun', String(failing))).code).toBe(3)
  const answer = JSON.parse((await reeve('resume', '--json', '--message', 'on', 'docs')).stdout) as { process: { pid: number } }
  expect(answer.process.pid).toBeGreaterThan(pid)
})

test('`resume --from-checkpoint` reports the step of the checkpoint', async () => {
  const { daemon, reeve } = await startLocal()
  const { uuid, model } = await daemon.spawnScripted(SIX_CALLS, { limits: { maxSteps: 20 } })
  await daemon.waitForEnd(uuid)
  const id = uuid.slice(-8)
  const { code, stderr } = await reeve('resume', '-d', '--from-checkpoint', uuid)
  expect([code, stderr]).toEqual([0, `resuming ${id} from checkpoint (step 5/20)...\nPID 2 spawned (${model}) | resumed from ${id}\n`])
  await daemon.waitForEnd(uuid)
})

test('list-resumable shows in pages how each process can be resumed, or why not', async () => {
  const { daemon, reeve } = await startLocal()
  const { uuid } = await daemon.spawnScripted([bashCall('echo 1'), { text: 'done' }], { name: 'docs' })
  await daemon.waitForEnd(uuid)
  await daemon.waitForEnd((await daemon.spawnShell('exit 0', { name: 'build' })).uuid)
  const heldProcess = await daemon.spawnScripted([{ text: 'x' }], { interactive: true, name: 'held' })
  await daemon.waitUntilReady(heldProcess.uuid)
  await daemon.pause(heldProcess.uuid)
  const { stdout } = await reeve('list-resumable')
  const rows = stdout
    .trimEnd()
    .split('\n')
    .map((line) => line.trim().split(/ {2,}/))
  expect(rows[0]).toEqual(['PID', 'ID', 'NAME', 'AGENT', 'STATUS', 'STEP', 'CONTINUE', 'FORK', 'RERUN', 'WHY'])
  expect(rows.slice(1).map((row) => [row[2], row.slice(4, 9)])).toEqual([
    ['held', ['suspended', '0', 'yes', 'steps 0-0', 'no']],
    ['build', ['completed', '0', 'no', 'no', 'yes']],
    ['docs', ['completed', '2', 'yes', 'steps 0-2', 'no']],
  ])
  const one = JSON.parse((await reeve('list-resumable', '--limit', '1', '--json')).stdout) as {
    processes: { name: string }[]
    next: string | null
  }
  expect(one.processes.map(({ name }) => name)).toEqual(['held', 'build'])
  expect(one.next).not.toBeNull()
})

test('lineage draws the tree of forks, with removed processes', async () => {
  const { daemon, reeve } = await startLocal()
  const forkOf = async (ref: string, fromStep: number): Promise<string> => {
    const { uuid } = (await daemon.resume(ref, { fork: true, fromStep })).process
    await daemon.waitForEnd(uuid)
    return uuid
  }
  const { uuid: root } = await daemon.spawnScripted(SIX_CALLS, { name: 'docs' })
  await daemon.waitForEnd(root)
  const first = await forkOf(root, 3)
  const second = await forkOf(root, 5)
  const grandchild = await forkOf(first, 4)
  expect((await reeve('rm', root)).code).toBe(0)
  const lastDigits = (uuid: string): string => uuid.slice(-8)
  const { stdout } = await runCli(daemon.home, ['lineage', grandchild], { env: { REEVE_ASCII: '1' } })
  const rows = stdout
    .trimEnd()
    .split('\n')
    .slice(1)
    .map((line) => line.replace(/^(\W*)(\w+) +/, '$1$2 ').replace(/ {2,}/g, ' '))
  expect(rows).toEqual([
    `${lastDigits(root)} 1 docs collected -`,
    `|- ${lastDigits(first)} 2 - completed 6 (forked from ${lastDigits(root)} after step 3)`,
    `| \`- ${lastDigits(grandchild)} 4 - completed 6 (forked from ${lastDigits(first)} after step 4) <`,
    `\`- ${lastDigits(second)} 3 - completed 6 (forked from ${lastDigits(root)} after step 5)`,
  ])
  expect((await reeve('lineage', 'nobody')).code).toBe(3)
})

describe('--all-interrupted', () => {
  async function startCrashed(): Promise<{ home: DaemonHome; reeve: (...args: string[]) => Promise<CliResult> }> {
    const home = await DaemonHome.create()
    onTestFinished(() => home[Symbol.asyncDispose]())
    await home.start()
    return { home, reeve: (...args) => runCli(home.path, args) }
  }

  test('resumes a parent before its child, which has the same parent again, and needs --yes without a terminal', async () => {
    const { home, reeve } = await startCrashed()
    const parent = await home.spawn({ model: home.writeScript([{ text: 'ready' }]), interactive: true, name: 'parent' })
    const child = await home.spawn({ model: home.writeScript([{ text: 'ready' }]), interactive: true, name: 'child', parent: parent.uuid })
    for (const { uuid } of [parent, child]) await home.waitForView(uuid, ({ status }) => status === 'ready')
    await home.kill()
    await home.start()
    expect((await home.view('child')).status).toBe('interrupted')
    const refusal = await reeve('resume', '-d', '--all-interrupted')
    expect([refusal.code, refusal.stderr]).toEqual([64, expect.stringContaining('Use --yes to skip the question.') as string])
    expect(refusal.stdout).toMatch(/parent .* resume .*\n.*child .* resume/)
    const { code, stderr } = await reeve('resume', '-d', '--all-interrupted', '--yes')
    expect([code, stderr.split('\n').at(-2)]).toEqual([0, '2 resumed'])
    const [parentView, childView] = [await home.view('parent'), await home.view('child')]
    expect(childView).toMatchObject({ status: 'ready', ppid: parentView.pid, parentUuid: parent.uuid })
    expect(parentView.pid).toBeLessThan(childView.pid)
    expect((await reeve('resume', '-d', '--all-interrupted')).stderr).toBe('nothing was interrupted\n')
  })

  test('stops after three failures in a row, and lists the rest', async () => {
    const { home, reeve } = await startCrashed()
    for (const name of ['a', 'b', 'c', 'd', 'e']) {
      const { uuid } = await home.spawn({ model: home.writeScript([{ text: 'ready' }]), interactive: true, name })
      await home.waitForView(uuid, ({ status }) => status === 'ready')
    }
    const scripts = (await Promise.all(['a', 'b', 'c', 'd', 'e'].map((name) => home.view(name)))).map(({ model }) =>
      (model ?? '').slice('script:'.length),
    )
    await home.kill()
    for (const script of scripts) rmSync(resolve(home.work, script))
    await home.start()
    const { code, stdout } = await reeve('resume', '-d', '--all-interrupted', '--yes', '--json')
    const { resumed, left } = JSON.parse(stdout) as { resumed: { name: string; error: string }[]; left: { name: string }[] }
    expect([code, resumed.map(({ name }) => name), left.map(({ name }) => name)]).toEqual([1, ['a', 'b', 'c'], ['d', 'e']])
    expect(resumed[0]?.error).toContain('cannot be read: ENOENT')
  })

  test('skips commands, which could only run again from their start, or not even that without their input', async () => {
    const { home, reeve } = await startCrashed()
    for (const name of ['a', 'b', 'c']) {
      const { uuid } = await home.spawn({ argv: ['sh', '-c', 'exec sleep 600'], name, ...(name === 'c' ? { input: 'x' } : {}) })
      await home.waitForView(uuid, ({ status }) => status === 'working')
    }
    const { uuid } = await home.spawn({ model: home.writeScript([{ text: 'ready' }]), interactive: true, name: 'agent' })
    await home.waitForView(uuid, ({ status }) => status === 'ready')
    await home.kill()
    await home.start()
    const { code, stdout, stderr } = await reeve('resume', '-d', '--all-interrupted', '--yes')
    expect([code, stderr.split('\n').at(-2)]).toEqual([0, '1 resumed'])
    expect(stdout).toMatch(/agent .* resume .*\n.*a .* --rerun .*\n.*b .* --rerun .*\n.*c .* no /)
    const secondRun = await reeve('resume', '-d', '--all-interrupted', '--yes')
    expect([secondRun.code, secondRun.stderr]).toEqual([
      0,
      'none of them can be resumed; `reeve resume --rerun P` runs one again from its beginning\n',
    ])
  })

  test.runIf(HAS_TERMINAL)('on a terminal it asks, and resumes nothing after a no', async () => {
    const { home } = await startCrashed()
    const { uuid } = await home.spawn({ model: home.writeScript([{ text: 'ready' }]), interactive: true, name: 'one' })
    await home.waitForView(uuid, ({ status }) => status === 'ready')
    await home.kill()
    await home.start()
    const terminal = new Terminal(home.path, ['resume', '--all-interrupted'])
    await terminal.waitForText('Resume 1 process? [y/N]')
    terminal.type('n\r')
    await terminal.waitForText('nothing was resumed')
    expect(await terminal.exitCode).toBe(1)
    expect((await home.view(uuid)).status).toBe('interrupted')
  })
})
