// The short texts about a process: its start, its end, its run, its tool calls, and its errors.
import { expect, describe, test } from 'vitest'
import { reasonText } from '../../../../src/api/text/exit-reason.ts'
import { endingText, shortInput, startText, processSummary } from '../../../../src/cli/print/process-text.ts'
import { errorText } from '../../../../src/cli/print/output.ts'
import { ApiError } from '../../../../src/api/client/api-error.ts'
import { endedView, processView } from '../../../support/daemon/process-view.ts'

describe('the text', () => {
  test('about a start names the PID, and the model or driver', () => {
    expect(startText(processView())).toBe('PID 5 spawned (anthropic/claude)')
    expect(startText(processView({ model: null, driver: 'command' }))).toBe('PID 5 spawned (command)')
  })

  test('about an end has the result, and the cause of a failure', () => {
    expect(endingText(endedView(0))).toBe('completed')
    expect(endingText(endedView(1))).toBe('failed: it broke (exit 1)')
    expect(endingText(endedView(127, { exit: { code: 127, reason: 'not found', error: 'no x' } }))).toBe(
      'failed: not found: no x (exit 127)',
    )
    expect(endingText(endedView(3, { exit: { code: 3, reason: 'exit code 3' } }))).toBe('failed: exit code 3')
    expect(endingText(processView())).toBe('working')
  })

  test('about an end by a signal names the process that sent it, but never by its UUID', () => {
    const uuid = '01a226ca-0000-7000-8000-0000deadbeef'
    const reason = `SIGTERM from agent:${uuid}`
    const endedBy = (parentUuid: string | null): string => endingText(endedView(143, { exit: { code: 143, reason }, parentUuid }))
    expect(endedBy(uuid)).toMatch(/: SIGTERM from its parent \(exit 143\)$/)
    expect(endedBy(null)).toMatch(/: SIGTERM from another process \(exit 143\)$/)
    expect(reasonText(reason, () => 'docs')).toBe('SIGTERM from docs')
    expect(reasonText('SIGTERM from user')).toBe('SIGTERM from user')
    expect(reasonText('context cancelled while paused')).toBe('ended while it was suspended')
  })

  test('about a run has its steps, tokens, cost and time, if they are not zero', () => {
    expect(processSummary(endedView(0))).toBe('PID 5 (docs) completed | 2 steps | tokens 1.2k in, 300 out, 800 cache read | $0.0123 | 4s')
    const view = {
      ...processView().usage,
      inputTokens: 0,
      outputTokens: 0,
      cacheReadTokens: 0,
      cacheWriteTokens: 0,
      costUsd: 0,
      unpriced: false,
    }
    expect(processSummary(endedView(0, { usage: view }))).toBe('PID 5 (docs) completed | 2 steps | 4s')
  })

  test('about a tool call has its input in one line', () => {
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

  test('about an error has its hint, and no control characters', () => {
    const error = new ApiError('NOT_FOUND', 'no process "\x1b[2Jx"', { hint: 'look' })
    expect(errorText(error, false)).toBe('reeve: no process "x"\n       look')
    expect(JSON.parse(errorText(error, true))).toEqual({
      version: 1,
      error: { code: 'NOT_FOUND', message: 'no process "\x1b[2Jx"', hint: 'look' },
    })
  })
})
