// `reeve logs`: several processes in the order of time, trees with new descendants, patterns, pages, JSON, and how calls are shown.
import { afterEach, beforeEach, expect, test } from 'vitest'
import { runCli, startCli, type CliResult } from '../../support/daemon/cli.ts'
import { LocalDaemon } from '../../support/daemon/local-daemon.ts'
import { HAS_TERMINAL, Terminal } from '../../support/daemon/terminal.ts'

let daemon: LocalDaemon
beforeEach(async () => {
  daemon = await LocalDaemon.start()
})
afterEach(async () => {
  await daemon[Symbol.asyncDispose]()
  expect(daemon.errors).toEqual([])
})

const reeve = (...args: string[]): Promise<CliResult> => runCli(daemon.home, args, { cwd: daemon.work })
/** a shell command that waits until this file exists */
const untilFile = (name: string): string => `until test -e ${daemon.work}/${name}; do sleep 0.02; done`
const createFile = (name: string): Promise<unknown> => daemon.spawnShell(`touch ${daemon.work}/${name}`)

test('logs of several processes are merged in the order of time, and each row begins with a name of the same width', async () => {
  const a = await daemon.spawnShell(`echo one; ${untilFile('two')}; echo three`, { name: 'a' })
  await daemon.waitForEvent(a.uuid, ({ fact }) => fact === 'process.output')
  const b = await daemon.spawnShell('echo two', { name: 'longer' })
  await daemon.waitForEnd(b.uuid)
  await createFile('two')
  await daemon.waitForEnd(a.uuid)
  const { code, stdout, stderr } = await reeve('logs', 'a', 'longer')
  expect([code, stderr]).toEqual([0, ''])
  const rows = stdout.trimEnd().split('\n')
  expect(rows.filter((row) => !row.includes('ended'))).toEqual(['a      | one', 'longer | two', 'a      | three'])
  expect(rows.filter((row) => row.includes('ended')).toSorted()).toEqual(['a      | ended: completed (0)', 'longer | ended: completed (0)'])
  expect((await reeve('logs', '--tail', '1', 'a', 'longer')).stdout.trimEnd().split('\n')).toHaveLength(2)
  const { lines } = JSON.parse((await reeve('logs', '--json', 'a', 'longer')).stdout) as { lines: object[] }
  expect(lines[0]).toMatchObject({ uuid: a.uuid, pid: a.pid, name: 'a', stream: 'stdout', text: 'one' })
  expect((await reeve('logs', 'a', 'none')).code).toBe(3)
})

test('-f --tree follows a process with its descendants, also those that start later, until all have ended', async () => {
  const root = await daemon.spawnShell(untilFile('end'), { name: 'root' })
  await daemon.spawnShell('echo early', { name: 'early', parent: root.uuid })
  await daemon.waitForEnd('early')
  const logs = startCli(daemon.home, ['logs', '-f', '--tree', 'root'], { cwd: daemon.work })
  await logs.waitForText('early | early')
  await daemon.spawnShell(`echo late; ${untilFile('end')}; echo last`, { name: 'late', parent: root.uuid })
  await daemon.spawnShell('echo stranger', { name: 'stranger' })
  await daemon.waitForEnd('stranger')
  await logs.waitForText('late  | late')
  await createFile('end')
  const { code, stdout } = await logs.result
  expect(code).toBe(0)
  expect(stdout).toContain('late  | last\n')
  expect(stdout).toContain('root  | ended: completed (0)\n')
  expect(stdout).not.toContain('stranger')
})

test('--all shows the living processes, and with -f each new one; a pattern selects by name', async () => {
  await daemon.spawnShell(`echo hello; ${untilFile('end')}`, { name: 'w1' })
  await daemon.waitForEvent('w1', ({ fact }) => fact === 'process.output')
  const logs = startCli(daemon.home, ['logs', '-f', '--all', '--json'], { cwd: daemon.work })
  await logs.waitForText('"text":"hello"')
  const { uuid, pid } = await daemon.spawnShell('echo new', { name: 'w2' })
  await logs.waitForText(`{"version":1,"uuid":"${uuid}","pid":${pid},"name":"w2"`)
  expect((await reeve('logs', 'w*')).stdout).toBe('w1 | hello\n')
  logs.child.kill()
  await logs.result
  await createFile('end')
  expect((await reeve('logs', '--all', '--tree')).code).toBe(64)
  expect((await reeve('logs')).code).toBe(64)
})

test.runIf(HAS_TERMINAL)(
  'on a terminal the names have colours, long text wraps beside them, and no escape code of a program passes',
  async () => {
    await daemon.spawnShell(String.raw`printf 'a\033[2Jb\n'`, { name: 'one' })
    await daemon.spawnScripted([{ text: 'The quick brown fox jumps over the lazy dog' }], { name: 'two' })
    await daemon.waitForEnd('one')
    await daemon.waitForEnd('two')
    using terminal = new Terminal(daemon.home, ['logs', 'one', 'two'], { columns: 30, env: { NO_COLOR: '' } })
    expect(await terminal.exitCode).toBe(0)
    expect(terminal.raw).not.toContain('\x1b[2J')
    expect(terminal.raw).toMatch(/\x1b\[3\dmone \|\x1b\[0m ab/)
    expect(terminal.text).toContain('two | The quick brown fox\ntwo | jumps over the lazy dog\n')
  },
)

test('the log of a tree can be read backwards page by page, and be limited to lines with a text', async () => {
  const root = await daemon.spawnShell(`echo 1; echo 2; echo 3; ${untilFile('end')}`, { name: 'root' })
  await daemon.waitForEvent(root.uuid, ({ fact }) => fact === 'process.output')
  const child = await daemon.spawnShell('echo 4; echo 5 needle; echo 6', { name: 'child', parent: root.uuid })
  await daemon.waitForEnd(child.uuid)
  await createFile('end')
  await daemon.waitForEnd(root.uuid)
  interface Page {
    readonly lines: { readonly text: string; readonly name?: string; readonly uuid?: string }[]
    readonly before: string | null
  }
  const page = (query: Record<string, string | number>): Promise<Page> => daemon.client.get<Page>('/v1/processes/root/logs', query)
  const whole = (await page({ subtree: 1, tail: 1000 })).lines
  const outputs = whole.filter(({ text }) => /^\d/.test(text)).map(({ name, text }) => `${name} ${text}`)
  expect(outputs).toEqual(['root 1', 'root 2', 'root 3', 'child 4', 'child 5 needle', 'child 6'])
  expect(whole[0]?.uuid).toBe(root.uuid)
  for (const tail of [1, 2, 3]) {
    const parts: Page['lines'][] = []
    for (let before: string | null = ''; before !== null;) {
      const next: Page = await page({ subtree: 1, tail, ...(before === '' ? {} : { before }) })
      expect(next.lines.length).toBeLessThanOrEqual(tail)
      parts.unshift(next.lines)
      before = next.before
    }
    expect(parts.flat()).toEqual(whole)
  }
  expect((await page({ subtree: 1, match: 'NEEDLE', ignoreCase: 1 })).lines.map(({ text }) => text)).toEqual(['5 needle'])
  expect((await page({ match: 'needle' })).lines).toEqual([])
  expect((await reeve('logs', '--tree', '--match', 'needle', 'root')).stdout).toBe('child | 5 needle\n')
  expect((await reeve('logs', '--match', '2', 'root')).stdout).toBe('2\n')
  expect((await reeve('logs', '-f', '--match', '2', 'root')).code).toBe(64)
})

test('logs and steps show a failed command with its exit code, and a call that waits for an answer as not begun', async () => {
  const bash = (command: string): object => ({ name: 'bash', input: { command } })
  const failed = await daemon.spawnScripted([{ tools: [bash('echo bad; exit 3')] }, { text: 'end' }], { name: 'failed' })
  await daemon.waitForEnd(failed.uuid)
  expect((await reeve('logs', 'failed')).stdout).toMatch(/\n {2}bash echo bad; exit 3\n {2}bash exit 3: bad\nend\n/)
  const { lines } = JSON.parse((await reeve('logs', '--json', 'failed')).stdout) as { lines: { stream: string }[] }
  expect(lines.filter(({ stream }) => stream === 'tool')).toEqual([
    {
      uuid: failed.uuid,
      pid: failed.pid,
      name: 'failed',
      at: expect.any(String),
      stream: 'tool',
      text: 'bash {"command":"echo bad; exit 3"}',
    },
    { uuid: failed.uuid, pid: failed.pid, name: 'failed', at: expect.any(String), stream: 'tool', text: 'bash exit 3: bad' },
  ])
  await daemon.spawnScripted([{ tools: [bash('echo one'), bash('echo two')] }, { text: 'end' }], { name: 'held', permissions: 'ask' })
  await daemon.waitForStatus('held', 'waiting')
  const waiting = '  bash echo one  waits for your answer\n  bash echo two  not begun\n'
  expect((await reeve('logs', 'held')).stdout).toContain(waiting)
  expect((await reeve('steps', 'held')).stdout).toContain(waiting)
  expect((await reeve('logs', 'held', 'failed')).stdout).toContain('held   |   bash echo two  not begun\n')
  expect((await reeve('stop', '--dry-run', 'held')).stdout).toContain('in flight  bash echo one (not begun): a resume asks again\n')
  const stopped = await reeve('stop', 'held')
  expect(stopped.stderr).toMatch(/\n {2}not run: bash echo one, bash echo two; kept: 0 steps, `reeve resume \d+` continues\n$/)
  const ended = '  bash echo one  not run\n  bash echo two  not run\n'
  expect((await reeve('logs', 'held')).stdout).toContain(ended)
  expect((await reeve('steps', 'held')).stdout).toContain(ended)
  expect((await reeve('steps', '--step', '1', 'held')).stdout).toContain('bash: not begun (once)\n')
  await reeve('resume', '-d', 'held')
  await daemon.waitForStatus('held', 'waiting')
  expect((await reeve('steps', 'held')).stdout, 'a resume asks again, and the call behind it is made again').toContain(waiting)
})
