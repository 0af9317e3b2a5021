// What people see: the table and tree of processes, the live view of a run, the sentences about a process.
import { PassThrough } from 'node:stream'
import { expect, describe, test } from 'vitest'
import { ending, shortInput, spawned, summary } from '../../src/cli/describe.ts'
import { factOf } from '../../src/cli/facts.ts'
import { LiveView } from '../../src/cli/live-view.ts'
import { errorText, Output } from '../../src/cli/output.ts'
import { CommandView } from '../../src/cli/plain-views.ts'
import { branches } from '../../src/cli/tree.ts'
import { lines } from '../../src/cli/verbs/ps.ts'
import { ApiError } from '../../src/api/client.ts'
import type { EventView } from '../../src/api/views.ts'
import { endedView, factEvent, processView } from '../support/fake-daemon.ts'

interface Screen { out: Output; text(): { stdout: string; stderr: string } }

/** An output whose streams are read back; `tty` is one terminal for both. */
function screen(over: { tty?: boolean; columns?: number; color?: boolean; quiet?: boolean; env?: Record<string, string> } = {}): Screen {
  const make = (): NodeJS.WriteStream => Object.assign(new PassThrough({ encoding: 'utf8' }), { isTTY: over.tty ?? false, columns: over.columns ?? 80 }) as unknown as NodeJS.WriteStream
  const streams = { stdout: make(), stderr: make() }
  const out = new Output({ json: false, quiet: over.quiet ?? false, color: over.color ?? false }, { LANG: 'C.UTF-8', ...over.env }, streams)
  return { out, text: () => ({ stdout: (streams.stdout.read() as string | null) ?? '', stderr: (streams.stderr.read() as string | null) ?? '' }) }
}

const UUID = processView().uuid
const reached = (limit: string, used: number, of: number, over: { action?: string; scope?: string } = {}): Parameters<typeof factEvent>[1] => ({ type: 'limit.reached', limit, used, of, action: 'suspend', scope: UUID, ...over })

const NOON = new Date(2026, 6, 1, 12, 0).getTime()

describe('ps', () => {
  const rows = [
    processView(),
    processView({ pid: 12, uuid: '01960000-0000-7000-8000-000011112222', name: null, status: 'suspended', holds: [], elapsedMs: 192_000, note: 'paused: by user' }),
    endedView(1, { pid: 7, name: '漢字', agent: 'reviewer', driver: 'command', step: 0, usage: { ...processView().usage, costUsd: 0, inputTokens: 0 } }),
  ]

  test('shows one line for each process', () => {
    expect(lines(rows, false, screen().out)).toEqual([
      'PID  ID        NAME  AGENT     STATUS       STEP  ELAPSED     COST  NOTE',
      '  5  deadbeef  docs  default   working         2       4s  $0.0123',
      ' 12  11112222  -     default   ⏸ suspended     2   3m 12s  $0.0123  paused: by user',
      '  7  deadbeef  漢字  reviewer  failed          0       4s        -',
    ])
  })

  test.each([[{ REEVE_ASCII: '1' }], [{ LANG: 'C' }], [{ LANG: '' }], [{ LC_ALL: 'POSIX' }]])('marks suspended ones with [P] where %j', (env) => {
    expect(lines(rows, false, screen({ env }).out)[2]).toContain('[P] suspended')
  })

  test('says when a cost is a lower bound', () => {
    expect(lines([processView({ usage: { ...processView().usage, unpriced: true } })], false, screen().out)[1]).toContain('$0.0123+')
  })

  test('lets nothing of an agent reach the terminal raw', () => {
    const evil = processView({ name: '\x1b[2Jx', note: 'a\nb\x07', agent: '\u202eevil' })
    expect(lines([evil], false, screen().out)[1]).toBe('  5  deadbeef  x     evil   working     2       4s  $0.0123  a b')
  })

  test('colours only a terminal that wants it', () => {
    expect(lines(rows, false, screen({ tty: true, color: true }).out)[1]).toContain('\x1b[32mworking')
    expect(lines(rows, false, screen({ tty: true, color: true, env: { NO_COLOR: '1' } }).out)[1]).not.toContain('\x1b')
    expect(lines(rows, false, screen({ tty: false, color: true }).out)[1]).not.toContain('\x1b')
    expect(lines(rows, false, screen({ tty: true, color: true, env: { TERM: 'dumb' } }).out)[1]).not.toContain('\x1b')
  })

  test('fits the terminal', () => {
    for (const columns of [20, 40, 60]) {
      // Plain text without wide characters, so length is width.
      for (const line of lines(rows.slice(0, 2), false, screen({ tty: true, columns }).out)) expect(line.length).toBeLessThanOrEqual(columns)
    }
  })
})

describe('the tree', () => {
  const child = (pid: number, ppid: number) => processView({ pid, ppid, name: `p${pid}` })
  const drawn = (ascii: boolean) => branches([child(1, 0), child(4, 9), child(2, 1), child(3, 1), child(5, 2)], ascii).map(({ view, branch }) => `${branch}${view.name}`)

  test('puts children below their parents; who has none in the list is a root', () => {
    expect(drawn(false)).toEqual(['p1', '├─ p2', '│  └─ p5', '└─ p3', 'p4'])
    expect(drawn(true)).toEqual(['p1', '|- p2', '|  `- p5', '`- p3', 'p4'])
  })
})

describe('a run on a terminal', () => {
  const live = (step: number, text: string): EventView => ({ version: 1, seq: 0, uuid: '', pid: 5, at: '', type: 'live.text', step, text })
  const begin = (step: number, attempt = 1): EventView => factEvent(1, { type: 'model.started', step, attempt, model: 'm' })
  const finish = (step: number, text: string, ...calls: object[]): EventView => factEvent(2, { type: 'model.finished', step, message: [{ type: 'text', text }, ...calls] })

  async function played(to: Screen, ...events: EventView[]): Promise<{ stdout: string; stderr: string }> {
    const view = new LiveView(to.out)
    for (const event of events) await view.event(event, factOf(event))
    return to.text()
  }

  test('shows text as it is written, once', async () => {
    expect((await played(screen({ tty: true }), begin(1), live(1, 'Hel'), live(1, 'lo'), finish(1, 'Hello'))).stdout).toBe('Hello\n')
  })

  test('shows the whole text when pieces of it were lost', async () => {
    expect((await played(screen({ tty: true }), begin(1), live(1, 'llo'), finish(1, 'Hello'))).stdout).toBe('llo\nHello\n')
  })

  test('does not take the text of a failed call for that of the next', async () => {
    const failed = factEvent(3, { type: 'model.failed', step: 1, attempt: 1, error: 'overloaded', status: 529, retryInMs: 2000 })
    const { stdout, stderr } = await played(screen({ tty: true }), begin(1), live(1, 'He'), failed, begin(1, 2), live(1, 'Hello'), finish(1, 'Hello'))
    expect(stdout).toBe('HeHello\n')
    expect(stderr).toContain('\n  model call failed: overloaded; again in 2.0s\n')
  })

  test('shows a call on a terminal from its beginning, and its end on the same line', async () => {
    const calls = ['a', 'b'].map((callId) => ({ type: 'tool-call', callId, name: 'bash', input: { command: `make ${callId}` } }))
    const started = (callId: string): EventView => factEvent(3, { type: 'tool.started', step: 1, callId, name: 'bash', effect: 'once' })
    const done = (callId: string): EventView => factEvent(4, { type: 'tool.finished', step: 1, callId, name: 'bash', outcome: 'ok', content: '', durationMs: 12 })
    const seen = async (tty: boolean, ...events: EventView[]): Promise<string> => (await played(screen({ tty }), begin(1), finish(1, '', ...calls), ...events)).stderr
    expect(await seen(true, started('a'))).toBe('  step 1\n  bash make a')
    expect(await seen(true, started('a'), done('a'), started('b'), done('b'))).toBe('  step 1\n  bash make a  ok 12ms\n  bash make b  ok 12ms\n')
    expect(await seen(true, started('a'), started('b'), done('a'), done('b'))).toBe('  step 1\n  bash make a\n  bash make b\n  bash make a  ok 12ms\n  bash make b  ok 12ms\n')
    expect(await seen(true, started('a'), finish(2, 'Hm'), done('a'))).toBe('  step 1\n  bash make a\n  bash make a  ok 12ms\n')
    expect(await seen(false, started('a'), done('a'))).toBe('  bash make a  ok 12ms\n')
  })

  test('shows a line for each tool call', async () => {
    const call = { type: 'tool-call', callId: 'c', name: 'read', input: { path: 'src/a.ts\x1b[2J' } }
    const done = factEvent(4, { type: 'tool.finished', step: 1, callId: 'c', name: 'read', outcome: 'error', content: '', durationMs: 12 })
    expect(await played(screen(), begin(1), finish(1, 'I look.', call), done)).toEqual({ stdout: 'I look.\n', stderr: '  read src/a.ts  error 12ms\n' })
  })

  test('says why a call failed, in its first words', async () => {
    const call = { type: 'tool-call', callId: 'c', name: 'read', input: { path: 'a' } }
    const done = (outcome: string, content: string): EventView => factEvent(4, { type: 'tool.finished', step: 1, callId: 'c', name: 'read', outcome, content, durationMs: 12 })
    const told = async (to: Screen, ...rest: Parameters<typeof done>): Promise<string> => (await played(to, begin(1), finish(1, '', call), done(...rest))).stderr
    expect(await told(screen(), 'error', 'ENOENT:\x1b[2J no\nsuch file')).toBe('  read a  error 12ms\n    ENOENT: no such file\n')
    expect(await told(screen(), 'ok', 'text of a')).toBe('  read a  ok 12ms\n')
    const long = await told(screen({ tty: true, columns: 40 }), 'denied', '漢'.repeat(5000))
    expect(long).toContain(`denied 12ms\n    ${'漢'.repeat(17)}…\n`)
  })

  test('tells once why the turn failed', async () => {
    const failed = factEvent(3, { type: 'model.failed', step: 1, attempt: 1, error: '404 no model', status: 404, retryInMs: null })
    const told = (message: string): Promise<{ stderr: string }> => played(screen(), begin(1), failed, factEvent(4, { type: 'process.error', message }))
    expect((await told('404 no model')).stderr).toBe('  model call failed: 404 no model\n')
    expect((await told('no model could answer')).stderr).toBe('  model call failed: 404 no model\n  no model could answer\n')
  })

  test('is quiet with -q but for the text', async () => {
    expect(await played(screen({ quiet: true }), begin(1), finish(1, 'x'), factEvent(3, { type: 'process.note', text: 'n' }))).toEqual({ stdout: 'x\n', stderr: '' })
  })

  test.each([
    [{ type: 'process.held', hold: { reason: 'budget', by: 'system', at: 0 } }, '⏸ suspended: budget by system'],
    [reached('budgetUsd', 1, 1), 'limit: $1.00 of $1\n  `reeve resume --budget-usd +X 5` lets it go on'],
    [reached('budgetTokens', 8_500, 10_000), 'limit: 8.5k of 10.0k tokens\n  `reeve resume --budget-tokens +N 5` lets it go on'],
    [reached('maxSteps', 3, 3), 'limit: 3 of 3 steps\n  `reeve resume --max-steps +N 5` lets it go on'],
    [reached('timeoutMs', 60_000, 60_000), 'limit: 1m 00s of 1m 00s of time\n  `reeve resume --timeout +D 5` lets it go on'],
    [reached('outputBytes', 1_048_576, 1_048_576), 'limit: 1.0 MiB of 1.0 MiB of output\n  `reeve resume --max-output +SIZE 5` lets it go on'],
    [reached('maxInputTokens', 10, 10), 'limit: 10 of 10 input tokens\n  more of `maxInputTokens` (docs/limits.md) lets it go on'],
    [reached('budgetUsd', 2, 2, { scope: 'u-0000beef' }), 'limit: $2.00 of $2\n  `reeve resume --budget-usd +X 0000beef` lets it go on'],
    [reached('maxSteps', 3, 3, { action: 'terminate' }), 'limit: 3 of 3 steps'],
    [reached('budgetTokens', 1, 9, { action: 'wait' }), 'limit: 1 of 9 tokens, and other calls are open: it waits'],
    [{ type: 'process.held', hold: { reason: 'context-full', by: 'system', at: 0 } }, '⏸ suspended: context-full by system\n  `reeve resume 5` tries again; after `reeve stop 5` it can have a --model with more room'],
    [{ type: 'process.held', hold: { reason: 'credentials', by: 'system', at: 0 } }, '⏸ suspended: credentials by system\n  `reeve resume 5` where the key is set lets it go on'],
    [{ type: 'process.held', hold: { reason: 'loop', by: 'system', at: 0 } }, '⏸ suspended: loop by system\n  `reeve resume 5` lets it go on, with a new count; `reeve events --tail 20 5` has the evidence'],
    [{ type: 'process.held', hold: { reason: 'rate-limit', by: 'system', at: NOON, until: NOON + 7_200_000, wake: true } }, '⏸ suspended: rate-limit by system until 14:00'],
    [{ type: 'process.held', hold: { reason: 'rate-limit', by: 'system', at: NOON, until: NOON + 86_400_000 } }, '⏸ suspended: rate-limit by system until 2026-07-02 12:00\n  `reeve resume 5` goes on then, or tries before; with `run --wake` it would by itself'],
    [{ type: 'liveness.changed', word: 'stalled', since: 0, evidence: 'in bash of step 3' }, 'stalled (in bash of step 3)'],
    [{ type: 'liveness.changed', word: 'alive', since: 0, evidence: '' }, 'it goes on'],
    [{ type: 'process.held', hold: { reason: 'user', by: 'user', at: 0 } }, '⏸ suspended by user'],
    [{ type: 'model.failed', step: 1, attempt: 1, error: 'interrupted', status: null, retryInMs: null }, 'interrupted'],
    [{ type: 'process.released', holds: [], by: 'user', mono: 0 }, 'goes on (by user)'],
    [{ type: 'context.compacted', step: 9, summary: 'secret', ranges: [[1, 2]], before: 182_004, after: 23_950, usage: {}, durationMs: 1 }, 'context compacted: 182k → 23.9k tokens'],
    [{ type: 'compaction.failed', step: 9, attempt: 1, error: 'overloaded', status: 529, retryInMs: 1_200 }, 'the context could not be summed up: overloaded; again in 1.2s'],
    [{ type: 'limit.warned', limit: 'context', used: 162_100, of: 200_000 }, 'context: 81 % used (162k of 200k tokens)'],
    [{ type: 'process.waiting', question: 'may I?' }, 'asks: may I?\n  `reeve answer 5 TEXT` answers'],
    [{ type: 'process.waiting', question: 'run make?', ask: { id: 'q1', kind: 'permission', text: 'run make?\x1b[2J', options: [{ id: 'y', name: 'Allow\nit', kind: 'allow_once' }, { id: 'n', name: 'Reject', kind: 'reject_once' }], callId: null, at: 0 } }, 'asks: run make?\n    1 Allow it\n    2 Reject\n  `reeve answer 5 NUMBER` answers'],
    [{ type: 'process.answered', id: 'q1', option: 'y', text: null, by: 'user' }, 'answered: y (by user)'],
    [{ type: 'process.error', message: 'a\x1b[2Jb' }, 'ab'],
    [{ type: 'child.spawned', child: 'u', childPid: 6 }, 'child PID 6 spawned'],
    [{ type: 'child.exited', child: 'u', childPid: 6, code: 1, reason: 'it broke' }, 'child PID 6 ended: it broke (exit 1)'],
  ])('tells %j', async (fact, text) => {
    expect((await played(screen(), factEvent(1, fact))).stderr).toBe(`  ${text}\n`)
  })
})

describe('messages in a run', () => {
  const seen = async (view: (out: Output) => LiveView, fact: { id: string; from: string; text: string }): Promise<string> => {
    const to = screen()
    const event = factEvent(1, { type: 'process.queue', ...fact })
    await view(to.out).event(event, factOf(event))
    return to.text().stderr
  }
  const started = (out: Output): LiveView => new LiveView(out)
  const attached = (out: Output): LiveView => new LiveView(out, { intent: true })

  test('are shown to all that look, with nothing raw in them', async () => {
    expect(await seen(started, { id: 'm1', from: 'user', text: 'one\x1b[2J\ntwo\n' })).toBe('> one\n  two\n')
    expect(await seen(started, { id: 'm1', from: 'agent:ab', text: 'hm' })).toBe('> (agent:ab) hm\n')
  })

  test('but for the intent, which only those see that come later', async () => {
    expect(await seen(started, { id: 'intent', from: 'user', text: 'hello' })).toBe('')
    expect(await seen(attached, { id: 'intent', from: 'user', text: 'hello' })).toBe('> hello\n')
  })
})

describe('a command', () => {
  async function played(to: Screen, exit: { code: number; reason: string; error?: string }, ...texts: [string, string][]): Promise<{ stdout: string; stderr: string }> {
    const view = new CommandView(to.out)
    for (const [stream, text] of texts) {
      const event = factEvent(1, { type: 'process.output', stream, text })
      await view.event(event, factOf(event))
    }
    await view.end(endedView(exit.code, { exit, usage: { ...processView().usage, steps: 0 } }))
    return to.text()
  }

  test('that has time to clean up says so to who waits on a terminal', async () => {
    const told = async (tty: boolean, graceMs: number): Promise<string> => {
      const to = screen({ tty })
      const event = factEvent(1, { type: 'process.stopping', stopping: { signal: 'SIGTERM', by: 'user', at: 0, graceMs, exit: { code: 143, reason: 'SIGTERM from user' } } })
      await new CommandView(to.out).event(event, factOf(event))
      return to.text().stderr
    }
    expect(await told(true, 10_000)).toBe('stopping (SIGTERM); what is left after 10s is killed\n')
    expect(await told(true, 300)).toBe('')
    expect(await told(false, 10_000)).toBe('')
  })

  test('is passed on byte for byte to a file', async () => {
    expect(await played(screen(), { code: 3, reason: 'x' }, ['stdout', '\x1b[2Ja\r'], ['stderr', 'b\x07'])).toEqual({ stdout: '\x1b[2Ja\r', stderr: 'b\x07' })
  })

  test('has its colours on a terminal and nothing else', async () => {
    const { stdout } = await played(screen({ tty: true }), { code: 0, reason: 'completed' }, ['stdout', '\x1b[31mred\x1b[2J\n'])
    expect(stdout).toBe('\x1b[31mred\\x1b[2J\n\x1b[0m')
  })

  test('that could not be run says why', async () => {
    expect((await played(screen(), { code: 127, reason: 'not found', error: 'nosuch: not found' })).stderr).toBe('reeve: nosuch: not found\n')
  })
})

describe('sentences', () => {
  test('about a start', () => {
    expect(spawned(processView())).toBe('PID 5 spawned (anthropic/claude)')
    expect(spawned(processView({ model: null, driver: 'command' }))).toBe('PID 5 spawned (command)')
  })

  test('about an end', () => {
    expect(ending(endedView(0))).toBe('completed')
    expect(ending(endedView(1))).toBe('failed: it broke (exit 1)')
    expect(ending(endedView(127, { exit: { code: 127, reason: 'not found', error: 'no x' } }))).toBe('failed: not found: no x (exit 127)')
    expect(ending(endedView(3, { exit: { code: 3, reason: 'exit code 3' } }))).toBe('failed: exit code 3')
    expect(ending(processView())).toBe('working')
  })

  test('about a run', () => {
    expect(summary(endedView(0))).toBe('PID 5 (docs) completed | 2 steps | tokens 1.2k in, 300 out, 800 cache read | $0.0123 | 4s')
    const free = { ...processView().usage, inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0, costUsd: 0, unpriced: false }
    expect(summary(endedView(0, { usage: free }))).toBe('PID 5 (docs) completed | 2 steps | 4s')
  })

  test('about a tool call', () => {
    expect([shortInput({ path: 'a' }), shortInput({ n: 1 }), shortInput('x'), shortInput(undefined), shortInput([1])]).toEqual(['a', '{"n":1}', 'x', '', '[1]'])
    expect(shortInput({ command: 'y'.repeat(500) })).toHaveLength(100)
    expect(shortInput('漢字漢字漢字', 8)).toBe('漢字...')
    expect(shortInput('漢字漢字漢字', 8, '…')).toBe('漢字漢…')
  })

  test('about an error', () => {
    const error = new ApiError('NOT_FOUND', 'no process "\x1b[2Jx"', { hint: 'look' })
    expect(errorText(error, false)).toBe('reeve: no process "x"\n       look')
    expect(JSON.parse(errorText(error, true))).toEqual({ version: 1, error: { code: 'NOT_FOUND', message: 'no process "\x1b[2Jx"', hint: 'look' } })
  })
})
