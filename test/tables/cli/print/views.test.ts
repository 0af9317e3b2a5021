// What the user sees: the table and the tree of processes, the output of a followed process, and the texts about a process.
import { PassThrough } from 'node:stream'
import { expect, describe, test } from 'vitest'
import { endingText, shortInput, driverText, runSummary } from '../../../../src/cli/print/describe.ts'
import { toFact } from '../../../../src/cli/follow/event-to-fact.ts'
import { LivePrinter } from '../../../../src/cli/follow/live-printer.ts'
import { errorText, Output } from '../../../../src/cli/print/output.ts'
import { CommandPrinter } from '../../../../src/cli/follow/plain-printers.ts'
import { treeBranches } from '../../../../src/cli/print/tree.ts'
import { lines } from '../../../../src/cli/verbs/ps.ts'
import { ApiError } from '../../../../src/api/client/client.ts'
import type { EventView } from '../../../../src/api/views/daemon.ts'
import { endedView, factEvent, processView } from '../../../support/daemon/fake-daemon.ts'

interface Screen {
  out: Output
  text(): { stdout: string; stderr: string }
}

/** An output whose streams can be read. `tty`: both streams are terminals. */
function screen(over: { tty?: boolean; columns?: number; color?: boolean; quiet?: boolean; env?: Record<string, string> } = {}): Screen {
  const make = (): NodeJS.WriteStream =>
    Object.assign(new PassThrough({ encoding: 'utf8' }), {
      isTTY: over.tty ?? false,
      columns: over.columns ?? 80,
    }) as unknown as NodeJS.WriteStream
  const streams = { stdout: make(), stderr: make() }
  const out = new Output({ json: false, quiet: over.quiet ?? false, color: over.color ?? false }, { LANG: 'C.UTF-8', ...over.env }, streams)
  return {
    out,
    text: () => ({ stdout: (streams.stdout.read() as string | null) ?? '', stderr: (streams.stderr.read() as string | null) ?? '' }),
  }
}

describe('the text of a step', () => {
  const text = (words: string) =>
    ({ ...factEvent(1, { type: 'model.started' }), type: 'live.text', step: 1, text: words }) as unknown as EventView
  const fact = (over: Parameters<typeof factEvent>[1]): [EventView, ReturnType<typeof toFact>] => {
    const event = factEvent(1, over)
    return [event, toFact(event)]
  }
  const started = fact({ type: 'model.started', step: 1, attempt: 1, model: 'm' })
  const finished = fact({
    type: 'model.finished',
    step: 1,
    message: [{ type: 'text', text: 'Let me see.' }],
    usage: {},
    finish: 'stop',
    durationMs: 1,
  })

  test('is shown once, even if a piece arrives before the start event of its step', async () => {
    const { out, text: shown } = screen({ tty: true })
    const view = new LivePrinter(out)
    await view.printEvent(text('Let '), undefined)
    await view.printEvent(text('me '), undefined)
    await view.printEvent(...started)
    await view.printEvent(text('see.'), undefined)
    await view.printEvent(...finished)
    // The recorded step repeats the text.
    await view.printEvent(text(' More.'), undefined)
    expect(shown().stdout.replaceAll('\r', '')).toBe('Let me see.\n')
  })

  test('is shown once if all of it so far is sent again', async () => {
    const { out, text: shown } = screen({ tty: true })
    const view = new LivePrinter(out)
    const whole = (soFar: string): EventView => ({ ...text(soFar), whole: true })
    await view.printEvent(whole('Let '), undefined)
    await view.printEvent(text('me '), undefined)
    await view.printEvent(...started)
    await view.printEvent(whole('Let me see'), undefined)
    await view.printEvent(text('.'), undefined)
    await view.printEvent(...finished)
    expect(shown().stdout.replaceAll('\r', '')).toBe('Let me see.\n')
  })

  test('is shown completely if its beginning was missed', async () => {
    const { out, text: shown } = screen({ tty: true })
    const view = new LivePrinter(out)
    await view.printEvent(...started)
    await view.printEvent(text('see.'), undefined)
    await view.printEvent(...finished)
    expect(shown().stdout.replaceAll('\r', '')).toBe('see.\nLet me see.\n')
  })
})

describe('ps', () => {
  const rows = [
    processView(),
    processView({
      pid: 12,
      uuid: '01960000-0000-7000-8000-000011112222',
      name: null,
      status: 'suspended',
      holds: [],
      elapsedMs: 192_000,
      note: 'paused: by user',
    }),
    endedView(1, {
      pid: 7,
      name: '漢字',
      agent: 'reviewer',
      driver: 'command',
      step: 0,
      usage: { ...processView().usage, costUsd: 0, inputTokens: 0 },
    }),
  ]

  test('shows a line for each process', () => {
    expect(lines(rows, false, screen().out)).toEqual([
      'PID  ID        NAME  AGENT     STATUS       STEP  ELAPSED     COST  NOTE',
      '  5  deadbeef  docs  default   working         2       4s  $0.0123  write the manual',
      ' 12  11112222  -     default   ⏸ suspended     2   3m 12s  $0.0123  paused: by user',
      '  7  deadbeef  漢字  reviewer  failed          0       4s        -  write the manual',
    ])
  })

  test('keeps the note readable on a narrow terminal: the ID, the agent and the step are omitted first', () => {
    const note = 'asks: may it touch the files of the other project?'
    const shown = (columns: number): string[] => lines([processView({ note })], false, screen().out, columns)
    expect(shown(100)[0]).toBe('PID  ID        NAME  AGENT    STATUS   STEP  ELAPSED     COST  NOTE')
    expect(shown(80)).toEqual([
      'PID  NAME  AGENT    STATUS   STEP  ELAPSED     COST  NOTE',
      '  5  docs  default  working     2       4s  $0.0123  asks: may it touch the fil…',
    ])
    expect([shown(70)[0], shown(60)[0]]).toEqual([
      'PID  NAME  STATUS   STEP  ELAPSED     COST  NOTE',
      'PID  NAME  STATUS   ELAPSED     COST  NOTE',
    ])
  })

  test.each([[{ REEVE_ASCII: '1' }], [{ LANG: 'C' }], [{ LANG: '' }], [{ LC_ALL: 'POSIX' }]])(
    'marks suspended ones with [P] where %j',
    (env) => {
      expect(lines(rows, false, screen({ env }).out)[2]).toContain('[P] suspended')
    },
  )

  test('marks a cost that is a lower bound', () => {
    expect(lines([processView({ usage: { ...processView().usage, unpriced: true } })], false, screen().out)[1]).toContain('$0.0123+')
  })

  test('prints no control characters of an agent', () => {
    const evil = processView({ name: '\x1b[2Jx', note: 'a\nb\x07', agent: '\u202eevil' })
    expect(lines([evil], false, screen().out)[1]).toBe('  5  deadbeef  x     evil   working     2       4s  $0.0123  a b')
  })

  test('uses colours only on a terminal that allows them', () => {
    expect(lines(rows, false, screen({ tty: true, color: true }).out)[1]).toContain('\x1b[32mworking')
    expect(lines(rows, false, screen({ tty: true, color: true, env: { NO_COLOR: '1' } }).out)[1]).not.toContain('\x1b')
    expect(lines(rows, false, screen({ tty: false, color: true }).out)[1]).not.toContain('\x1b')
    expect(lines(rows, false, screen({ tty: true, color: true, env: { TERM: 'dumb' } }).out)[1]).not.toContain('\x1b')
  })

  test('fits the terminal', () => {
    for (const columns of [20, 40, 60]) {
      // Plain text without wide characters, so length is width.
      for (const line of lines(rows.slice(0, 2), false, screen({ tty: true, columns }).out))
        expect(line.length).toBeLessThanOrEqual(columns)
    }
  })
})

describe('the tree', () => {
  const child = (pid: number, ppid: number) => processView({ pid, ppid, name: `p${pid}` })
  const drawn = (ascii: boolean) =>
    treeBranches([child(1, 0), child(4, 9), child(2, 1), child(3, 1), child(5, 2)], ascii).map(
      ({ view, branch }) => `${branch}${view.name}`,
    )

  test('puts children below their parents; a row without a parent in the list is a root', () => {
    expect(drawn(false)).toEqual(['p1', '├─ p2', '│  └─ p5', '└─ p3', 'p4'])
    expect(drawn(true)).toEqual(['p1', '|- p2', '|  `- p5', '`- p3', 'p4'])
  })
})

describe('a run on a terminal', () => {
  const live = (step: number, text: string): EventView => ({ version: 1, seq: 0, uuid: '', pid: 5, at: '', type: 'live.text', step, text })
  const begin = (step: number, attempt = 1): EventView => factEvent(1, { type: 'model.started', step, attempt, model: 'm' })
  const finish = (step: number, text: string, ...calls: object[]): EventView =>
    factEvent(2, { type: 'model.finished', step, message: [{ type: 'text', text }, ...calls] })

  async function played(to: Screen, ...events: EventView[]): Promise<{ stdout: string; stderr: string }> {
    const view = new LivePrinter(to.out)
    for (const event of events) await view.printEvent(event, toFact(event))
    return to.text()
  }

  test('prints text while it is written, once', async () => {
    expect((await played(screen({ tty: true }), begin(1), live(1, 'Hel'), live(1, 'lo'), finish(1, 'Hello'))).stdout).toBe('Hello\n')
  })

  test('shows the whole text when pieces of it were lost', async () => {
    expect((await played(screen({ tty: true }), begin(1), live(1, 'llo'), finish(1, 'Hello'))).stdout).toBe('llo\nHello\n')
  })

  test('wraps its text between words, and messages and notes with their indentation', async () => {
    const narrow = screen({ tty: true, columns: 20 })
    const message = factEvent(3, { type: 'process.queue', id: 'm1', from: 'agent:ab', text: 'the quick brown fox\njumps' })
    const note = factEvent(4, { type: 'process.note', text: 'the quick brown fox jumps' })
    const seen = await played(
      narrow,
      begin(1),
      live(1, 'The quick br'),
      live(1, 'own fox jumps ov'),
      live(1, 'er it.'),
      finish(1, 'The quick brown fox jumps over it.'),
      message,
      note,
    )
    expect(seen.stdout).toBe('The quick brown fox\njumps over it.\n')
    expect(seen.stderr).toBe('  step 1\n> (agent:ab) the\n  quick brown fox\n  jumps\n  the quick brown\n  fox jumps\n')
  })

  test('does not wrap its text in a file', async () => {
    const text = 'the quick brown fox jumps over the lazy dog  \n'
    const note = factEvent(4, { type: 'process.note', text: text.trim() })
    expect(await played(screen({ columns: 20 }), begin(1), finish(1, text), note)).toEqual({ stdout: text, stderr: `  ${text.trim()}\n` })
  })

  test('prints the last word before a message, and continues the text', async () => {
    const both: string[] = []
    const to = screen({ tty: true, columns: 20 })
    const raw = to.out.raw.bind(to.out)
    to.out.raw = async (name, text) => {
      both.push(text)
      await raw(name, text)
    }
    await played(
      to,
      begin(1),
      live(1, 'The quick bro'),
      factEvent(3, { type: 'process.note', text: 'a note' }),
      live(1, 'wn fox jumps over'),
      finish(1, 'The quick brown fox jumps over'),
    )
    expect(both.join('')).toBe('  step 1\nThe quick bro\n  a note\nwn fox jumps over\n')
  })

  test('also shows the last word after a short silence', async () => {
    const to = screen({ tty: true, columns: 20 })
    const whole = new Promise<void>((resolve) => {
      const piece = to.out.piece.bind(to.out)
      to.out.piece = async (text) => {
        await piece(text)
        if (text.endsWith('decide.')) resolve()
      }
    })
    const { stdout } = await played(to, begin(1), live(1, 'Let me decide.'))
    await whole
    expect([stdout, to.text().stdout]).toEqual(['Let me', ' decide.'])
  })

  test('does not confuse the text of a failed call with that of the next call', async () => {
    const failed = factEvent(3, { type: 'model.failed', step: 1, attempt: 1, error: 'overloaded', status: 529, retryInMs: 2000 })
    const { stdout, stderr } = await played(
      screen({ tty: true }),
      begin(1),
      live(1, 'He'),
      failed,
      begin(1, 2),
      live(1, 'Hello'),
      finish(1, 'Hello'),
    )
    expect(stdout).toBe('HeHello\n')
    expect(stderr).toContain('\n  model call failed: overloaded; retry in 2.0s\n')
  })

  test('shows a call on a terminal from its beginning, and its end on the same line', async () => {
    const calls = ['a', 'b'].map((callId) => ({ type: 'tool-call', callId, name: 'bash', input: { command: `make ${callId}` } }))
    const started = (callId: string): EventView => factEvent(3, { type: 'tool.started', step: 1, callId, name: 'bash', effect: 'once' })
    const done = (callId: string): EventView =>
      factEvent(4, { type: 'tool.finished', step: 1, callId, name: 'bash', outcome: 'ok', content: '', durationMs: 12 })
    const seen = async (tty: boolean, ...events: EventView[]): Promise<string> =>
      (await played(screen({ tty }), begin(1), finish(1, '', ...calls), ...events)).stderr
    expect(await seen(true, started('a'))).toBe('  step 1\n  bash make a')
    expect(await seen(true, started('a'), done('a'), started('b'), done('b'))).toBe(
      '  step 1\n  bash make a  ok 12ms\n  bash make b  ok 12ms\n',
    )
    expect(await seen(true, started('a'), started('b'), done('a'), done('b'))).toBe(
      '  step 1\n  bash make a\n  bash make b\n  bash make a  ok 12ms\n  bash make b  ok 12ms\n',
    )
    expect(await seen(true, started('a'), finish(2, 'Hm'), done('a'))).toBe('  step 1\n  bash make a\n  bash make a  ok 12ms\n')
    expect(await seen(false, started('a'), done('a'))).toBe('  bash make a  ok 12ms\n')
  })

  test('shows a line for each tool call', async () => {
    const call = { type: 'tool-call', callId: 'c', name: 'read', input: { path: 'src/a.ts\x1b[2J' } }
    const done = factEvent(4, { type: 'tool.finished', step: 1, callId: 'c', name: 'read', outcome: 'error', content: '', durationMs: 12 })
    expect(await played(screen(), begin(1), finish(1, 'I look.', call), done)).toEqual({
      stdout: 'I look.\n',
      stderr: '  read src/a.ts  error 12ms\n',
    })
  })

  test('shows the first words of the error of a failed call', async () => {
    const call = { type: 'tool-call', callId: 'c', name: 'read', input: { path: 'a' } }
    const done = (outcome: string, content: string): EventView =>
      factEvent(4, { type: 'tool.finished', step: 1, callId: 'c', name: 'read', outcome, content, durationMs: 12 })
    const told = async (to: Screen, ...rest: Parameters<typeof done>): Promise<string> =>
      (await played(to, begin(1), finish(1, '', call), done(...rest))).stderr
    expect(await told(screen(), 'error', 'ENOENT:\x1b[2J no\nsuch file')).toBe('  read a  error 12ms\n    ENOENT: no such file\n')
    expect(await told(screen(), 'ok', 'text of a')).toBe('  read a  ok 12ms\n')
    const ran = (exitCode: number, content: string): Promise<{ stderr: string }> =>
      played(
        screen(),
        begin(1),
        finish(1, '', call),
        factEvent(4, { type: 'tool.finished', step: 1, callId: 'c', name: 'read', outcome: 'ok', exitCode, content, durationMs: 12 }),
      )
    expect((await ran(3, 'one\ntwo\n\nthree\n4 failed\x1b[2J\n[exit code 3]')).stderr).toBe(
      '  read a  exit 3 12ms\n    two\n    three\n    4 failed\n',
    )
    expect([(await ran(0, 'fine')).stderr, (await ran(1, '')).stderr]).toEqual(['  read a  ok 12ms\n', '  read a  exit 1 12ms\n'])
    const long = await told(screen({ tty: true, columns: 40 }), 'denied', '漢'.repeat(5000))
    expect(long).toContain(`denied 12ms\n    ${'漢'.repeat(17)}…\n`)
  })

  test('prints the cause of a failed turn once', async () => {
    const failed = factEvent(3, { type: 'model.failed', step: 1, attempt: 1, error: '404 no model', status: 404, retryInMs: null })
    const told = (message: string): Promise<{ stderr: string }> =>
      played(screen(), begin(1), failed, factEvent(4, { type: 'process.error', message }))
    expect((await told('404 no model')).stderr).toBe('  model call failed: 404 no model\n')
    expect((await told('no model could answer')).stderr).toBe('  model call failed: 404 no model\n  no model could answer\n')
  })

  test('prints only the text with -q', async () => {
    expect(await played(screen({ quiet: true }), begin(1), finish(1, 'x'), factEvent(3, { type: 'process.note', text: 'n' }))).toEqual({
      stdout: 'x\n',
      stderr: '',
    })
  })

  test.each([
    [{ type: 'liveness.changed', word: 'stalled', since: 0, evidence: 'in bash of step 3' }, 'stalled (in bash of step 3)'],
    [{ type: 'liveness.changed', word: 'alive', since: 0, evidence: '' }, 'active again'],
    [{ type: 'model.failed', step: 1, attempt: 1, error: 'interrupted', status: null, retryInMs: null }, 'interrupted'],
    [
      { type: 'context.compacted', step: 9, summary: 'secret', ranges: [[1, 2]], before: 182_004, after: 23_950, usage: {}, durationMs: 1 },
      'context compacted: 182k → 23.9k tokens',
    ],
    [
      { type: 'compaction.failed', step: 9, attempt: 1, error: 'overloaded', status: 529, retryInMs: 1_200 },
      'the context could not be compacted: overloaded; retry in 1.2s',
    ],
    [{ type: 'limit.warned', limit: 'context', used: 162_100, of: 200_000 }, 'warning: context: 81 % used (162k of 200k tokens)'],
    [{ type: 'process.answered', id: 'q1', option: 'y', text: null, by: 'user' }, 'answered: y (by user)'],
    [{ type: 'process.error', message: 'a\x1b[2Jb' }, 'ab'],
    [{ type: 'child.spawned', child: 'u', childPid: 6 }, 'child PID 6 spawned'],
    [
      { type: 'child.exited', child: 'u', childPid: 6, code: 1, reason: 'context cancelled while paused' },
      'child PID 6 ended: ended while it was suspended (exit 1)',
    ],
    [{ type: 'child.exited', child: 'u', childPid: 6, code: 1, reason: 'it broke' }, 'child PID 6 ended: it broke (exit 1)'],
  ])('reports %j', async (fact, text) => {
    expect((await played(screen(), factEvent(1, fact))).stderr).toBe(`  ${text}\n`)
  })
})

describe('messages in a run', () => {
  const seen = async (view: (out: Output) => LivePrinter, fact: { id: string; from: string; text: string }): Promise<string> => {
    const to = screen()
    const event = factEvent(1, { type: 'process.queue', ...fact })
    await view(to.out).printEvent(event, toFact(event))
    return to.text().stderr
  }
  const started = (out: Output): LivePrinter => new LivePrinter(out)
  const attached = (out: Output): LivePrinter => new LivePrinter(out, { intent: true })

  test('are printed for all users that follow, without control characters', async () => {
    expect(await seen(started, { id: 'm1', from: 'user', text: 'one\x1b[2J\ntwo\n' })).toBe('> one\n  two\n')
    expect(await seen(started, { id: 'm1', from: 'agent:ab', text: 'hm' })).toBe('> (agent:ab) hm\n')
  })

  test('except the intent, which is printed only for users that attach later', async () => {
    expect(await seen(started, { id: 'intent', from: 'user', text: 'hello' })).toBe('')
    expect(await seen(attached, { id: 'intent', from: 'user', text: 'hello' })).toBe('> hello\n')
  })
})

describe('a command', () => {
  async function played(
    to: Screen,
    exit: { code: number; reason: string; error?: string },
    ...texts: [string, string][]
  ): Promise<{ stdout: string; stderr: string }> {
    const view = new CommandPrinter(to.out)
    for (const [stream, text] of texts) {
      const event = factEvent(1, { type: 'process.output', stream, text })
      await view.printEvent(event, toFact(event))
    }
    await view.printEnd(endedView(exit.code, { exit, usage: { ...processView().usage, steps: 0 } }))
    return to.text()
  }

  test('that gets time for cleanup is reported on a terminal', async () => {
    const told = async (tty: boolean, graceMs: number): Promise<string> => {
      const to = screen({ tty })
      const event = factEvent(1, {
        type: 'process.stopping',
        stopping: { signal: 'SIGTERM', by: 'user', at: 0, graceMs, exit: { code: 143, reason: 'SIGTERM from user' } },
      })
      await new CommandPrinter(to.out).printEvent(event, toFact(event))
      return to.text().stderr
    }
    expect(await told(true, 10_000)).toBe('stopping (SIGTERM); killed after 10s\n')
    expect(await told(true, 300)).toBe('')
    expect(await told(false, 10_000)).toBe('')
  })

  // A program that ends at once may end before anything of it was measured.
  test.each([
    ['without arguments, output or measurements', 'sh', 0, '', true],
    ['without arguments that wrote', 'sh', 0, 'x', false],
    ['without arguments that failed', 'sh', 1, '', false],
    ['with arguments', 'sh -c true', 0, '', false],
  ])('%s gets the right advice, or none', async (_, intent, code, text, isAdvised) => {
    const to = screen({ tty: true })
    const view = new CommandPrinter(to.out)
    const event = factEvent(1, { type: 'process.output', stream: 'stdout', text })
    if (text !== '') await view.printEvent(event, toFact(event))
    await view.printEnd(endedView(code, { intent, usage: { ...processView().usage, outputBytes: null } }))
    expect(to.text().stderr.includes('it wrote nothing')).toBe(isAdvised)
  })

  test('is written to a file byte by byte', async () => {
    expect(await played(screen(), { code: 3, reason: 'x' }, ['stdout', '\x1b[2Ja\r'], ['stderr', 'b\x07'])).toEqual({
      stdout: '\x1b[2Ja\r',
      stderr: 'b\x07',
    })
  })

  test('keeps its colours on a terminal, but no other control characters', async () => {
    const { stdout } = await played(screen({ tty: true }), { code: 0, reason: 'completed' }, ['stdout', '\x1b[31mred\x1b[2J\n'])
    expect(stdout).toBe('\x1b[31mred\\x1b[2J\n\x1b[0m')
  })

  test('that could not be run has a reason', async () => {
    expect((await played(screen(), { code: 127, reason: 'not found', error: 'nosuch: not found' })).stderr).toBe(
      'reeve: nosuch: not found\n',
    )
  })
})

describe('texts', () => {
  test('about a start', () => {
    expect(driverText(processView())).toBe('PID 5 spawned (anthropic/claude)')
    expect(driverText(processView({ model: null, driver: 'command' }))).toBe('PID 5 spawned (command)')
  })

  test('about an end', () => {
    expect(endingText(endedView(0))).toBe('completed')
    expect(endingText(endedView(1))).toBe('failed: it broke (exit 1)')
    expect(endingText(endedView(127, { exit: { code: 127, reason: 'not found', error: 'no x' } }))).toBe(
      'failed: not found: no x (exit 127)',
    )
    expect(endingText(endedView(3, { exit: { code: 3, reason: 'exit code 3' } }))).toBe('failed: exit code 3')
    expect(endingText(processView())).toBe('working')
  })

  test('about a run', () => {
    expect(runSummary(endedView(0))).toBe('PID 5 (docs) completed | 2 steps | tokens 1.2k in, 300 out, 800 cache read | $0.0123 | 4s')
    const free = {
      ...processView().usage,
      inputTokens: 0,
      outputTokens: 0,
      cacheReadTokens: 0,
      cacheWriteTokens: 0,
      costUsd: 0,
      unpriced: false,
    }
    expect(runSummary(endedView(0, { usage: free }))).toBe('PID 5 (docs) completed | 2 steps | 4s')
  })

  test('about a tool call', () => {
    expect([shortInput({ path: 'a' }), shortInput({ n: 1 }), shortInput('x'), shortInput(undefined), shortInput([1])]).toEqual([
      'a',
      '{"n":1}',
      'x',
      '',
      '[1]',
    ])
    expect(shortInput({ workdir: '/x', command: 'npm test' })).toBe('npm test')
    expect(shortInput({ command: 'y'.repeat(500) })).toHaveLength(100)
    expect(shortInput('漢字漢字漢字', 8)).toBe('漢字...')
    expect(shortInput('漢字漢字漢字', 8, '…')).toBe('漢字漢…')
  })

  test('about an error', () => {
    const error = new ApiError('NOT_FOUND', 'no process "\x1b[2Jx"', { hint: 'look' })
    expect(errorText(error, false)).toBe('reeve: no process "x"\n       look')
    expect(JSON.parse(errorText(error, true))).toEqual({
      version: 1,
      error: { code: 'NOT_FOUND', message: 'no process "\x1b[2Jx"', hint: 'look' },
    })
  })
})
