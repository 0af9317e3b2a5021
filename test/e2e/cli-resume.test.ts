// `reeve resume --fork`, `list-resumable`, `lineage` and `resume --all-interrupted` as a person types them, against real daemons.
import { rmSync } from 'node:fs'
import { resolve } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { runCli, type CliResult } from '../support/cli.ts'
import { DaemonHome } from '../support/daemon.ts'
import { LocalDaemon } from '../support/local-daemon.ts'
import { HAS_TERMINAL, Terminal } from '../support/terminal.ts'

const bash = (command: string): object => ({ tools: [{ name: 'bash', input: { command } }] })
const SIX = [bash('echo 1'), bash('echo 2'), bash('echo 3'), bash('echo 4'), bash('echo 5'), { text: 'six' }]

async function local(): Promise<{ daemon: LocalDaemon; reeve: (...args: string[]) => Promise<CliResult> }> {
  const daemon = await LocalDaemon.start()
  onTestFinished(async () => {
    await daemon[Symbol.asyncDispose]()
    expect(daemon.errors).toEqual([])
  })
  return { daemon, reeve: (...args) => runCli(daemon.home, args) }
}

describe('a fork', () => {
  test('is told on stderr, its UUID on stdout', async () => {
    const { daemon, reeve } = await local()
    const origin = await daemon.play(SIX, { name: 'docs' })
    await daemon.ended(origin.uuid)
    const { code, stdout, stderr } = await reeve('resume', '--fork', '--from-step', '0', 'docs')
    const uuid = stdout.trim()
    const from = origin.uuid.slice(-8)
    expect([code, stderr]).toEqual([0, `forking from ${from} after step 0 -> new UUID ${uuid.slice(-8)}\nPID 2 spawned (${origin.model}) | forked from ${from}\n`])
    expect(await daemon.ended(uuid)).toMatchObject({ originUuid: origin.uuid, originStep: 0, step: 6, lastText: 'six' })
    expect((await reeve('inspect', uuid)).stdout).toContain(`forked from  ${origin.uuid} at step 0`)
    expect((await reeve('ps', '-a')).stdout).toContain(`(forked from ${from})`)
  })

  test('what does not go together is a mistake of the command line', async () => {
    const { reeve } = await local()
    for (const flags of [['--from-step', '2'], ['--fork', '--from-step', '2', '--from-checkpoint'], ['--with-files'], ['--yes']]) {
      expect([flags, (await reeve('resume', ...flags, '1')).code]).toEqual([flags, 64])
    }
    expect((await reeve('resume')).code).toBe(64)
    expect((await reeve('resume', '--from-step', '2', '1')).stderr).toContain('--from-step needs --fork')
  })
})

test('a resume says which checkpoint it goes on from', async () => {
  const { daemon, reeve } = await local()
  const { uuid, model } = await daemon.play(SIX, { limits: { maxSteps: 20 } })
  await daemon.ended(uuid)
  const id = uuid.slice(-8)
  const { code, stderr } = await reeve('resume', '--from-checkpoint', uuid)
  expect([code, stderr]).toEqual([0, `resuming ${id} from checkpoint (step 5/20)...\nPID 2 spawned (${model}) | resumed from ${id}\n`])
  await daemon.ended(uuid)
})

test('list-resumable says how each can go on, and why not; in pages', async () => {
  const { daemon, reeve } = await local()
  const { uuid } = await daemon.play([bash('echo 1'), { text: 'done' }], { name: 'docs' })
  await daemon.ended(uuid)
  await daemon.ended((await daemon.sh('exit 0', { name: 'build' })).uuid)
  const paused = await daemon.play([{ text: 'x' }], { interactive: true, name: 'held' })
  await daemon.ready(paused.uuid)
  await daemon.pause(paused.uuid)
  const { stdout } = await reeve('list-resumable')
  const rows = stdout.trimEnd().split('\n').map((line) => line.trim().split(/ {2,}/))
  expect(rows[0]).toEqual(['PID', 'ID', 'NAME', 'AGENT', 'STATUS', 'STEP', 'CONTINUE', 'FORK', 'RERUN', 'WHY'])
  expect(rows.slice(1).map((row) => [row[2], row.slice(4, 9)])).toEqual([
    ['held', ['suspended', '0', 'yes', 'steps 0-0', 'no']],
    ['build', ['completed', '0', 'no', 'no', 'yes']],
    ['docs', ['completed', '2', 'yes', 'steps 0-2', 'no']],
  ])
  const one = JSON.parse((await reeve('list-resumable', '--limit', '1', '--json')).stdout) as { processes: { name: string }[]; next: string | null }
  expect(one.processes.map(({ name }) => name)).toEqual(['held', 'build'])
  expect(one.next).not.toBeNull()
})

test('lineage draws the family, with what was removed', async () => {
  const { daemon, reeve } = await local()
  const made = async (ref: string, fromStep: number): Promise<string> => {
    const { uuid } = (await daemon.resume(ref, { fork: true, fromStep })).process
    await daemon.ended(uuid)
    return uuid
  }
  const { uuid: root } = await daemon.play(SIX, { name: 'docs' })
  await daemon.ended(root)
  const first = await made(root, 3)
  const second = await made(root, 5)
  const grandchild = await made(first, 4)
  expect((await reeve('rm', root)).code).toBe(0)
  const id = (uuid: string): string => uuid.slice(-8)
  const { stdout } = await runCli(daemon.home, ['lineage', grandchild], { env: { REEVE_ASCII: '1' } })
  const rows = stdout.trimEnd().split('\n').slice(1).map((line) => line.replace(/^(\W*)(\w+) +/, '$1$2 ').replace(/ {2,}/g, ' '))
  expect(rows).toEqual([
    `${id(root)} 1 docs collected -`,
    `|- ${id(first)} 2 - completed 6 (forked from ${id(root)} after step 3)`,
    `| \`- ${id(grandchild)} 4 - completed 6 (forked from ${id(first)} after step 4) <`,
    `\`- ${id(second)} 3 - completed 6 (forked from ${id(root)} after step 5)`,
  ])
  expect((await reeve('lineage', 'nobody')).code).toBe(3)
})

describe('--all-interrupted', () => {
  async function crashed(): Promise<{ home: DaemonHome; reeve: (...args: string[]) => Promise<CliResult> }> {
    const home = await DaemonHome.make()
    onTestFinished(() => home[Symbol.asyncDispose]())
    await home.start()
    return { home, reeve: (...args) => runCli(home.path, args) }
  }

  test('a parent comes back before its child, which finds it again; without a terminal it needs --yes', async () => {
    const { home, reeve } = await crashed()
    const parent = await home.spawn({ model: home.script([{ text: 'ready' }]), interactive: true, name: 'parent' })
    const child = await home.spawn({ model: home.script([{ text: 'ready' }]), interactive: true, name: 'child', parent: parent.uuid })
    for (const { uuid } of [parent, child]) await home.until(uuid, ({ status }) => status === 'ready')
    await home.kill()
    await home.start()
    expect((await home.view('child')).status).toBe('interrupted')
    const refused = await reeve('resume', '--all-interrupted')
    expect([refused.code, refused.stderr]).toEqual([64, expect.stringContaining('With --yes it does not ask.') as string])
    expect(refused.stdout).toMatch(/parent .* resume .*\n.*child .* resume/)
    const { code, stderr } = await reeve('resume', '--all-interrupted', '--yes')
    expect([code, stderr.split('\n').at(-2)]).toEqual([0, '2 resumed'])
    const [back, found] = [await home.view('parent'), await home.view('child')]
    expect(found).toMatchObject({ status: 'ready', ppid: back.pid, parentUuid: parent.uuid })
    expect(back.pid).toBeLessThan(found.pid)
    expect((await reeve('resume', '--all-interrupted')).stderr).toBe('nothing was interrupted\n')
  })

  test('it stops after three failures in a row, and says what is left', async () => {
    const { home, reeve } = await crashed()
    for (const name of ['a', 'b', 'c', 'd', 'e']) {
      const { uuid } = await home.spawn({ model: home.script([{ text: 'ready' }]), interactive: true, name })
      await home.until(uuid, ({ status }) => status === 'ready')
    }
    const scripts = (await Promise.all(['a', 'b', 'c', 'd', 'e'].map((name) => home.view(name)))).map(({ model }) => (model ?? '').slice('script:'.length))
    await home.kill()
    for (const script of scripts) rmSync(resolve(home.work, script))
    await home.start()
    const { code, stdout } = await reeve('resume', '--all-interrupted', '--yes', '--json')
    const { resumed, left } = JSON.parse(stdout) as { resumed: { name: string; error: string }[]; left: { name: string }[] }
    expect([code, resumed.map(({ name }) => name), left.map(({ name }) => name)]).toEqual([1, ['a', 'b', 'c'], ['d', 'e']])
    expect(resumed[0]?.error).toContain('cannot be read: ENOENT')
  })

  test('a command is left alone, and holds up nobody: it could only be run again', async () => {
    const { home, reeve } = await crashed()
    for (const name of ['a', 'b', 'c']) {
      const { uuid } = await home.spawn({ argv: ['sh', '-c', 'exec sleep 600'], name })
      await home.until(uuid, ({ status }) => status === 'working')
    }
    const { uuid } = await home.spawn({ model: home.script([{ text: 'ready' }]), interactive: true, name: 'agent' })
    await home.until(uuid, ({ status }) => status === 'ready')
    await home.kill()
    await home.start()
    const { code, stdout, stderr } = await reeve('resume', '--all-interrupted', '--yes')
    expect([code, stderr.split('\n').at(-2)]).toEqual([0, '1 resumed'])
    expect(stdout).toMatch(/agent .* resume .*\n.*a .* --rerun .*\n.*b .* --rerun .*\n.*c .* --rerun /)
    const again = await reeve('resume', '--all-interrupted', '--yes')
    expect([again.code, again.stderr]).toEqual([0, 'nothing of it can go on; `reeve resume --rerun P` runs one again, from its beginning\n'])
  })

  test.runIf(HAS_TERMINAL)('on a terminal it asks, and no is no', async () => {
    const { home } = await crashed()
    const { uuid } = await home.spawn({ model: home.script([{ text: 'ready' }]), interactive: true, name: 'one' })
    await home.until(uuid, ({ status }) => status === 'ready')
    await home.kill()
    await home.start()
    const terminal = new Terminal(home.path, ['resume', '--all-interrupted'])
    await terminal.sees('Resume 1 process? [y/N]')
    terminal.type('n\r')
    await terminal.sees('nothing was resumed')
    expect(await terminal.done).toBe(1)
    expect((await home.view(uuid)).status).toBe('interrupted')
  })
})
