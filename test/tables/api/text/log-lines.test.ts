// The log lines of tool calls: what `--json` has, and what the text shows of a call and of its result. Also the line of an exit.
import { expect, test } from 'vitest'
import { logLines } from '../../../../src/api/text/log-lines.ts'
import type { BodyOf, FactBody } from '../../../../src/kernel/model/facts.ts'

const AT = '2026-01-01T00:00:00.000+00:00'
const finished = (end: Partial<BodyOf<'tool.finished'>>): BodyOf<'tool.finished'> => ({
  type: 'tool.finished',
  step: 1,
  callId: 'c',
  name: 'bash',
  outcome: 'ok',
  content: 'bad\n',
  durationMs: 1,
  ...end,
})

test('a call has its whole input in its text, and its main field beside it', () => {
  const usage = { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0, costUsd: null }
  const message = [{ type: 'tool-call' as const, callId: 'c', name: 'bash', input: { command: 'echo same\nls' } }]
  expect(logLines(AT, { type: 'model.finished', step: 1, message, usage, finish: 'tool-calls', durationMs: 1 })).toEqual([
    {
      at: AT,
      stream: 'tool',
      text: 'bash {"command":"echo same\\nls"}',
      call: { id: 'c', name: 'bash', input: 'echo same ls' },
    },
  ])
})

test.each<[string, Partial<BodyOf<'tool.finished'>>, object[]]>([
  ['succeeds', {}, [{ text: 'bash ok: bad' }]],
  [
    'fails with an exit code',
    { exitCode: 3, content: 'bad\nworse\n[exit code 3]' },
    [{ text: 'bash exit 3: bad', failed: true }, { text: 'worse' }],
  ],
  ['fails without output', { exitCode: 1, content: '[exit code 1]' }, [{ text: 'bash exit 1:', failed: true }]],
  ['prints such a line and succeeds', { content: '[exit code 3]' }, [{ text: 'bash ok: [exit code 3]' }]],
  ['succeeds as a command', { exitCode: 0, content: 'same\n[exit code 0]' }, [{ text: 'bash ok: same' }]],
  ['is denied', { outcome: 'denied', content: 'no' }, [{ text: 'bash denied: no', failed: true }]],
])('the result of a call that %s has its lines', (_, end, lines) => {
  expect(logLines(AT, finished(end))).toEqual(lines.map((line) => ({ at: AT, stream: 'tool', ...line })))
})

test('the log describes the end of a suspended process in plain text', () => {
  const exitFact: FactBody = {
    type: 'process.exited',
    exit: { code: 1, reason: 'context cancelled while paused', cause: 'person' },
    mono: 0,
  }
  expect(logLines('', exitFact).map(({ text }) => text)).toEqual(['ended: ended while it was suspended (1)'])
})
