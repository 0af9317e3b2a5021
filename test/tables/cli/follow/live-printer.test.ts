// The output of a followed process: the text of its steps, its calls and reports, messages, and the output of a command.
import { expect, describe, test } from 'vitest'
import { toFact } from '../../../../src/cli/follow/event-to-fact.ts'
import { LivePrinter } from '../../../../src/cli/follow/live-printer.ts'
import type { Output } from '../../../../src/cli/print/output.ts'
import { CommandPrinter } from '../../../../src/cli/follow/plain-printers.ts'
import type { EventView } from '../../../../src/api/views/daemon.ts'
import { captureOutput, type CapturedOutput } from '../../../support/cli/captured-output.ts'
import { endedView, factEvent, processView } from '../../../support/daemon/process-view.ts'

describe('the text of a step', () => {
  const textEvent = (content: string) =>
    ({ ...factEvent(1, { type: 'model.started' }), type: 'live.text', step: 1, text: content }) as unknown as EventView
  const factWith = (options: Parameters<typeof factEvent>[1]): [EventView, ReturnType<typeof toFact>] => {
    const event = factEvent(1, options)
    return [event, toFact(event)]
  }
  const started = factWith({ type: 'model.started', step: 1, attempt: 1, model: 'm' })
  const finished = factWith({
    type: 'model.finished',
    step: 1,
    message: [{ type: 'text', text: 'Let me see.' }],
    usage: {},
    finish: 'stop',
    durationMs: 1,
  })

  test('is shown once, even if a piece arrives before the start event of its step', async () => {
    const { out, text: readText } = captureOutput({ tty: true })
    const printer = new LivePrinter(out)
    await printer.printEvent(textEvent('Let '), undefined)
    await printer.printEvent(textEvent('me '), undefined)
    await printer.printEvent(...started)
    await printer.printEvent(textEvent('see.'), undefined)
    await printer.printEvent(...finished)
    // The recorded step repeats the text.
    await printer.printEvent(textEvent(' More.'), undefined)
    expect(readText().stdout.replaceAll('\r', '')).toBe('Let me see.\n')
  })

  test('is shown once if the whole text so far is sent again', async () => {
    const { out, text: readText } = captureOutput({ tty: true })
    const printer = new LivePrinter(out)
    const wholeTextEvent = (soFar: string): EventView => ({ ...textEvent(soFar), whole: true })
    await printer.printEvent(wholeTextEvent('Let '), undefined)
    await printer.printEvent(textEvent('me '), undefined)
    await printer.printEvent(...started)
    await printer.printEvent(wholeTextEvent('Let me see'), undefined)
    await printer.printEvent(textEvent('.'), undefined)
    await printer.printEvent(...finished)
    expect(readText().stdout.replaceAll('\r', '')).toBe('Let me see.\n')
  })

  test('is shown completely if its beginning was missed', async () => {
    const { out, text: readText } = captureOutput({ tty: true })
    const printer = new LivePrinter(out)
    await printer.printEvent(...started)
    await printer.printEvent(textEvent('see.'), undefined)
    await printer.printEvent(...finished)
    expect(readText().stdout.replaceAll('\r', '')).toBe('see.\nLet me see.\n')
  })
})

describe('a followed run', () => {
  const liveText = (step: number, text: string): EventView => ({
    version: 1,
    seq: 0,
    uuid: '',
    pid: 5,
    at: '',
    type: 'live.text',
    step,
    text,
  })
  const modelStarted = (step: number, attempt = 1): EventView => factEvent(1, { type: 'model.started', step, attempt, model: 'm' })
  const modelFinished = (step: number, text: string, ...calls: object[]): EventView =>
    factEvent(2, { type: 'model.finished', step, message: [{ type: 'text', text }, ...calls] })

  async function playEvents(screen: CapturedOutput, ...events: EventView[]): Promise<{ stdout: string; stderr: string }> {
    const printer = new LivePrinter(screen.out)
    for (const event of events) await printer.printEvent(event, toFact(event))
    return screen.text()
  }

  test('prints text while it is written, once', async () => {
    expect(
      (await playEvents(captureOutput({ tty: true }), modelStarted(1), liveText(1, 'Hel'), liveText(1, 'lo'), modelFinished(1, 'Hello')))
        .stdout,
    ).toBe('Hello\n')
  })

  test('shows the whole text when pieces of it were lost', async () => {
    expect((await playEvents(captureOutput({ tty: true }), modelStarted(1), liveText(1, 'llo'), modelFinished(1, 'Hello'))).stdout).toBe(
      'llo\nHello\n',
    )
  })

  test('wraps its text between words, and messages and notes with their indentation', async () => {
    const narrow = captureOutput({ tty: true, columns: 20 })
    const message = factEvent(3, { type: 'process.queue', id: 'm1', from: 'agent:ab', text: 'the quick brown fox\njumps' })
    const note = factEvent(4, { type: 'process.note', text: 'the quick brown fox jumps' })
    const output = await playEvents(
      narrow,
      modelStarted(1),
      liveText(1, 'The quick br'),
      liveText(1, 'own fox jumps ov'),
      liveText(1, 'er it.'),
      modelFinished(1, 'The quick brown fox jumps over it.'),
      message,
      note,
    )
    expect(output.stdout).toBe('The quick brown fox\njumps over it.\n')
    expect(output.stderr).toBe('  step 1\n> (agent:ab) the\n  quick brown fox\n  jumps\n  the quick brown\n  fox jumps\n')
  })

  test('does not wrap its text in a file', async () => {
    const text = 'the quick brown fox jumps over the lazy dog  \n'
    const note = factEvent(4, { type: 'process.note', text: text.trim() })
    expect(await playEvents(captureOutput({ columns: 20 }), modelStarted(1), modelFinished(1, text), note)).toEqual({
      stdout: text,
      stderr: `  ${text.trim()}\n`,
    })
  })

  test('prints the last word before a message, and continues the text', async () => {
    const allOutput: string[] = []
    const screen = captureOutput({ tty: true, columns: 20 })
    const raw = screen.out.raw.bind(screen.out)
    screen.out.raw = async (name, text) => {
      allOutput.push(text)
      await raw(name, text)
    }
    await playEvents(
      screen,
      modelStarted(1),
      liveText(1, 'The quick bro'),
      factEvent(3, { type: 'process.note', text: 'a note' }),
      liveText(1, 'wn fox jumps over'),
      modelFinished(1, 'The quick brown fox jumps over'),
    )
    expect(allOutput.join('')).toBe('  step 1\nThe quick bro\n  a note\nwn fox jumps over\n')
  })

  test('prints the last word after a short time without text', async () => {
    const screen = captureOutput({ tty: true, columns: 20 })
    const printed = new Promise<void>((resolve) => {
      const piece = screen.out.piece.bind(screen.out)
      screen.out.piece = async (text) => {
        await piece(text)
        if (text.endsWith('decide.')) resolve()
      }
    })
    const { stdout } = await playEvents(screen, modelStarted(1), liveText(1, 'Let me decide.'))
    await printed
    expect([stdout, screen.text().stdout]).toEqual(['Let me', ' decide.'])
  })

  test('does not confuse the text of a failed call with that of the next call', async () => {
    const failed = factEvent(3, { type: 'model.failed', step: 1, attempt: 1, error: 'overloaded', status: 529, retryInMs: 2000 })
    const { stdout, stderr } = await playEvents(
      captureOutput({ tty: true }),
      modelStarted(1),
      liveText(1, 'He'),
      failed,
      modelStarted(1, 2),
      liveText(1, 'Hello'),
      modelFinished(1, 'Hello'),
    )
    expect(stdout).toBe('HeHello\n')
    expect(stderr).toContain('\n  model call failed: overloaded; retry in 2.0s\n')
  })

  test('shows a call on a terminal from its beginning, and its end on the same line', async () => {
    const calls = ['a', 'b'].map((callId) => ({ type: 'tool-call', callId, name: 'bash', input: { command: `make ${callId}` } }))
    const toolStarted = (callId: string): EventView => factEvent(3, { type: 'tool.started', step: 1, callId, name: 'bash', effect: 'once' })
    const toolFinished = (callId: string): EventView =>
      factEvent(4, { type: 'tool.finished', step: 1, callId, name: 'bash', outcome: 'ok', content: '', durationMs: 12 })
    const outputOf = async (tty: boolean, ...events: EventView[]): Promise<string> =>
      (await playEvents(captureOutput({ tty }), modelStarted(1), modelFinished(1, '', ...calls), ...events)).stderr
    expect(await outputOf(true, toolStarted('a'))).toBe('  step 1\n  bash make a')
    expect(await outputOf(true, toolStarted('a'), toolFinished('a'), toolStarted('b'), toolFinished('b'))).toBe(
      '  step 1\n  bash make a  ok 12ms\n  bash make b  ok 12ms\n',
    )
    expect(await outputOf(true, toolStarted('a'), toolStarted('b'), toolFinished('a'), toolFinished('b'))).toBe(
      '  step 1\n  bash make a\n  bash make b\n  bash make a  ok 12ms\n  bash make b  ok 12ms\n',
    )
    expect(await outputOf(true, toolStarted('a'), modelFinished(2, 'Hm'), toolFinished('a'))).toBe(
      '  step 1\n  bash make a\n  bash make a  ok 12ms\n',
    )
    expect(await outputOf(false, toolStarted('a'), toolFinished('a'))).toBe('  bash make a  ok 12ms\n')
  })

  test('shows a line for each tool call', async () => {
    const call = { type: 'tool-call', callId: 'c', name: 'read', input: { path: 'src/a.ts\x1b[2J' } }
    const toolFinished = factEvent(4, {
      type: 'tool.finished',
      step: 1,
      callId: 'c',
      name: 'read',
      outcome: 'error',
      content: '',
      durationMs: 12,
    })
    expect(await playEvents(captureOutput(), modelStarted(1), modelFinished(1, 'I look.', call), toolFinished)).toEqual({
      stdout: 'I look.\n',
      stderr: '  read src/a.ts  error 12ms\n',
    })
  })

  test('shows the beginning of an error, and the last lines of a command that failed', async () => {
    const call = { type: 'tool-call', callId: 'c', name: 'read', input: { path: 'a' } }
    const toolFinished = (outcome: string, content: string): EventView =>
      factEvent(4, { type: 'tool.finished', step: 1, callId: 'c', name: 'read', outcome, content, durationMs: 12 })
    const outputOfEnd = async (screen: CapturedOutput, ...end: Parameters<typeof toolFinished>): Promise<string> =>
      (await playEvents(screen, modelStarted(1), modelFinished(1, '', call), toolFinished(...end))).stderr
    expect(await outputOfEnd(captureOutput(), 'error', 'ENOENT:\x1b[2J no\nsuch file')).toBe(
      '  read a  error 12ms\n    ENOENT: no such file\n',
    )
    expect(await outputOfEnd(captureOutput(), 'ok', 'text of a')).toBe('  read a  ok 12ms\n')
    const outputOfExit = (exitCode: number, content: string): Promise<{ stderr: string }> =>
      playEvents(
        captureOutput(),
        modelStarted(1),
        modelFinished(1, '', call),
        factEvent(4, { type: 'tool.finished', step: 1, callId: 'c', name: 'read', outcome: 'ok', exitCode, content, durationMs: 12 }),
      )
    expect((await outputOfExit(3, 'one\ntwo\n\nthree\n4 failed\x1b[2J\n[exit code 3]')).stderr).toBe(
      '  read a  exit 3 12ms\n    two\n    three\n    4 failed\n',
    )
    expect([(await outputOfExit(0, 'fine')).stderr, (await outputOfExit(1, '')).stderr]).toEqual([
      '  read a  ok 12ms\n',
      '  read a  exit 1 12ms\n',
    ])
    const longOutput = await outputOfEnd(captureOutput({ tty: true, columns: 40 }), 'denied', '漢'.repeat(5000))
    expect(longOutput).toContain(`denied 12ms\n    ${'漢'.repeat(17)}…\n`)
  })

  test('shows edits as changed lines, the beginning of a long output with a key for all of it, and a plan as a list', async () => {
    const screen = captureOutput({ tty: true })
    const printer = new LivePrinter(screen.out)
    printer.enableUnfold()
    const call = (callId: string, name: string, input: object): object => ({ type: 'tool-call', callId, name, input })
    const finished = (callId: string, name: string, content: string): EventView =>
      factEvent(3, { type: 'tool.finished', step: 1, callId, name, outcome: 'ok', content, durationMs: 12 })
    const long = Array.from({ length: 9 }, (_, line) => `line ${line}`).join('\n')
    for (const event of [
      modelFinished(
        1,
        '',
        call('a', 'edit', { path: 'a.ts', old_text: 'one', new_text: 'two' }),
        call('b', 'bash', { command: 'seq' }),
        call('c', 'TodoWrite', { todos: [{ content: 'read', status: 'completed' }] }),
      ),
      finished('a', 'edit', 'replaced'),
      finished('b', 'bash', long),
      finished('c', 'TodoWrite', 'ok'),
      factEvent(4, { type: 'process.note', text: 'plan: [x] read; [>] fix' }),
    ])
      await printer.printEvent(event, toFact(event))
    await printer.unfold()
    const { stderr } = screen.text()
    expect(stderr).toContain('    a.ts\n    -one\n    +two\n')
    expect(stderr).toContain('    line 3\n    … 5 more lines: Ctrl+O\n')
    expect(stderr).toMatch(/ {2}plan 1 of 1\n {4}\S+ read\n {2}plan 1 of 2\n {4}\S+ read\n {4}\S+ fix\n {2}bash seq\n/)
    expect(stderr).toMatch(/ {2}bash seq\n {4}line 0\n[^]* {4}line 8\n$/)
  })

  test('prints the cause of a failed turn once', async () => {
    const failed = factEvent(3, { type: 'model.failed', step: 1, attempt: 1, error: '404 no model', status: 404, retryInMs: null })
    const outputOfFailure = (message: string): Promise<{ stderr: string }> =>
      playEvents(captureOutput(), modelStarted(1), failed, factEvent(4, { type: 'process.error', message }))
    expect((await outputOfFailure('404 no model')).stderr).toBe('  model call failed: 404 no model\n')
    expect((await outputOfFailure('no model could answer')).stderr).toBe('  model call failed: 404 no model\n  no model could answer\n')
  })

  test('prints only the text with -q', async () => {
    expect(
      await playEvents(
        captureOutput({ quiet: true }),
        modelStarted(1),
        modelFinished(1, 'x'),
        factEvent(3, { type: 'process.note', text: 'n' }),
      ),
    ).toEqual({
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
    expect((await playEvents(captureOutput(), factEvent(1, fact))).stderr).toBe(`  ${text}\n`)
  })
})

describe('messages in a run', () => {
  const outputOf = async (
    createPrinter: (output: Output) => LivePrinter,
    fields: { id: string; from: string; text: string },
  ): Promise<string> => {
    const screen = captureOutput()
    const event = factEvent(1, { type: 'process.queue', ...fields })
    await createPrinter(screen.out).printEvent(event, toFact(event))
    return screen.text().stderr
  }
  const newPrinter = (output: Output): LivePrinter => new LivePrinter(output)
  const newAttachedPrinter = (output: Output): LivePrinter => new LivePrinter(output, { intent: true })

  test('are printed for all users that follow, without control characters', async () => {
    expect(await outputOf(newPrinter, { id: 'm1', from: 'user', text: 'one\x1b[2J\ntwo\n' })).toBe('> one\n  two\n')
    expect(await outputOf(newPrinter, { id: 'm1', from: 'agent:ab', text: 'hm' })).toBe('> (agent:ab) hm\n')
  })

  test('except the intent, which is printed only for users that attach later', async () => {
    expect(await outputOf(newPrinter, { id: 'intent', from: 'user', text: 'hello' })).toBe('')
    expect(await outputOf(newAttachedPrinter, { id: 'intent', from: 'user', text: 'hello' })).toBe('> hello\n')
  })
})

describe('a command', () => {
  async function playEvents(
    screen: CapturedOutput,
    exit: { code: number; reason: string; error?: string },
    ...texts: [string, string][]
  ): Promise<{ stdout: string; stderr: string }> {
    const printer = new CommandPrinter(screen.out)
    for (const [stream, text] of texts) {
      const event = factEvent(1, { type: 'process.output', stream, text })
      await printer.printEvent(event, toFact(event))
    }
    await printer.printEnd(endedView(exit.code, { exit, usage: { ...processView().usage, steps: 0 } }))
    return screen.text()
  }

  test('that gets time for cleanup is reported on a terminal', async () => {
    const outputOfStop = async (tty: boolean, graceMs: number): Promise<string> => {
      const screen = captureOutput({ tty })
      const event = factEvent(1, {
        type: 'process.stopping',
        stopping: { signal: 'SIGTERM', by: 'user', at: 0, graceMs, exit: { code: 143, reason: 'SIGTERM from user' } },
      })
      await new CommandPrinter(screen.out).printEvent(event, toFact(event))
      return screen.text().stderr
    }
    expect(await outputOfStop(true, 10_000)).toBe('stopping (SIGTERM); killed after 10s\n')
    expect(await outputOfStop(true, 300)).toBe('')
    expect(await outputOfStop(false, 10_000)).toBe('')
  })

  // A program that ends at once may end before anything of it was measured.
  test.each([
    ['without arguments, output or measurements', 'sh', 0, '', true],
    ['without arguments that wrote', 'sh', 0, 'x', false],
    ['without arguments that failed', 'sh', 1, '', false],
    ['with arguments', 'sh -c true', 0, '', false],
  ])('%s (`%s`, exit %i, output %j) gets the hint that it wrote nothing: %s', async (_, intent, code, text, isAdvised) => {
    const screen = captureOutput({ tty: true })
    const printer = new CommandPrinter(screen.out)
    const event = factEvent(1, { type: 'process.output', stream: 'stdout', text })
    if (text !== '') await printer.printEvent(event, toFact(event))
    await printer.printEnd(endedView(code, { intent, usage: { ...processView().usage, outputBytes: null } }))
    expect(screen.text().stderr.includes('it wrote nothing')).toBe(isAdvised)
  })

  test('is written to a file byte by byte', async () => {
    expect(await playEvents(captureOutput(), { code: 3, reason: 'x' }, ['stdout', '\x1b[2Ja\r'], ['stderr', 'b\x07'])).toEqual({
      stdout: '\x1b[2Ja\r',
      stderr: 'b\x07',
    })
  })

  test('keeps its colours on a terminal, but no other control characters', async () => {
    const { stdout } = await playEvents(captureOutput({ tty: true }), { code: 0, reason: 'completed' }, ['stdout', '\x1b[31mred\x1b[2J\n'])
    expect(stdout).toBe('\x1b[31mred\\x1b[2J\n\x1b[0m')
  })

  test('that could not be run has a reason', async () => {
    expect((await playEvents(captureOutput(), { code: 127, reason: 'not found', error: 'nosuch: not found' })).stderr).toBe(
      'reeve: nosuch: not found\n',
    )
  })
})
