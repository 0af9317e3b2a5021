// The notices to the user: which facts cause a notice, its text, and which facts cause none.
import { describe, expect, test } from 'vitest'
import { mayNotify, noticeOf, withQuestion } from '../../../../src/daemon/notify/notices.ts'
import { TranscriptPlayer } from '../../../support/kernel/transcript.ts'
import type { FactBody } from '../../../../src/kernel/model/facts.ts'
import type { Process } from '../../../../src/kernel/model/process.ts'

function makeRow(script = '.live a named=docs'): Process {
  const player = new TranscriptPlayer()
  player.play(script)
  return player.world.row('a') as Process
}

function noticeText(body: FactBody, process: Process | undefined = makeRow()): string | null {
  const notice = noticeOf({ uuid: 'a', seq: 9, cursor: 9, pid: 1, at: 5, body }, process)
  return notice === null ? null : `${notice.kind}: ${notice.text}`
}

const heldFor = (reason: 'budget' | 'loop' | 'user' | 'rate-limit' | 'daemon-shutdown', changes: object = {}): FactBody => ({
  type: 'process.held',
  mono: 1,
  hold: { reason, by: reason === 'user' ? 'user' : 'system', at: 5, ...changes },
})
const processExited = (exit: { code: number; reason: string; cause: 'agent' | 'person' | 'parent' | 'limit' | 'daemon' }): FactBody => ({
  type: 'process.exited',
  mono: 1,
  exit,
})

describe('facts that cause a notice', () => {
  test.each<readonly [FactBody, string]>([
    [{ type: 'process.waiting', question: 'run npm test?' }, 'waiting: docs (PID 1) waits for an answer: run npm test?'],
    [{ type: 'crew.notified', text: 'the tests need a key' }, 'waiting: docs (PID 1) reports: the tests need a key'],
    [
      { type: 'task.blocked', task: 'lexer', reason: 'reeve/fix is checked out in /src: check out another branch there' },
      'waiting: docs (PID 1) cannot merge lexer: reeve/fix is checked out in /src: check out another branch there',
    ],
    [{ type: 'liveness.changed', word: 'waiting', since: 1, evidence: 'for a person' }, 'waiting: docs (PID 1) still waits for an answer'],
    [
      { type: 'liveness.changed', word: 'stalled', since: 1, evidence: 'in bash of step 3' },
      'stalled: docs (PID 1) is stalled (in bash of step 3)',
    ],
    [{ type: 'liveness.changed', word: 'silent', since: 1, evidence: '' }, 'stalled: docs (PID 1) is silent'],
    [{ type: 'liveness.changed', word: 'stopped', since: 1, evidence: 'PID 77' }, 'stalled: docs (PID 1) was stopped by a signal (PID 77)'],
    [processExited({ code: 0, reason: 'completed', cause: 'agent' }), 'finished: docs (PID 1) has finished'],
    [processExited({ code: 3, reason: 'exit code 3', cause: 'agent' }), 'failed: docs (PID 1) has failed: exit code 3'],
    [processExited({ code: 1, reason: 'timed out', cause: 'limit' }), 'failed: docs (PID 1) has failed: timed out'],
    [
      { type: 'limit.reached', limit: 'budgetUsd', used: 2.001, of: 2, action: 'suspend', scope: 'a' },
      'budget: docs (PID 1) is suspended: $2.0010 of $2 are spent',
    ],
    [
      { type: 'limit.reached', limit: 'maxToolCalls', used: 9, of: 9, action: 'terminate', scope: 'a' },
      'budget: docs (PID 1) has come to its limit: 9 of 9 tool calls are used',
    ],
    [
      { type: 'limit.warned', limit: 'dailyUsd', used: 4.1, of: 5 },
      'budget: docs (PID 1) has spent money of the home: $4.1000 of $5 are spent today',
    ],
    [
      { type: 'limit.reached', limit: 'monthlyUsd', used: 300, of: 300, action: 'suspend', scope: 'a' },
      'budget: docs (PID 1) is suspended: $300.0000 of $300 are spent this month by all processes',
    ],
    [heldFor('rate-limit'), 'stalled: docs (PID 1) is suspended: rate-limit'],
    [
      { type: 'limit.warned', limit: 'budgetUsd', used: 1.6, of: 2 },
      'budget: docs (PID 1) has used 80 % of a limit: $1.6000 of $2 are spent',
    ],
  ])('%j causes its notice', (body, text) => {
    expect(mayNotify(body), 'the notifier looks at such facts').toBe(true)
    expect(noticeText(body)).toBe(text)
  })

  test('the notice of a hold has the reason, if the kernel knows it', () => {
    expect(noticeText(heldFor('loop'), { ...makeRow(), note: '5 times the same: bash' })).toBe(
      'stalled: docs (PID 1) is suspended: loop (5 times the same: bash)',
    )
  })
})

describe('no notice is caused by', () => {
  test.each<readonly [string, FactBody]>([
    ['the end of a process that the user stopped', processExited({ code: 143, reason: 'SIGTERM from user', cause: 'person' })],
    ['the end of a process that its parent stopped', processExited({ code: 143, reason: 'SIGTERM from agent', cause: 'parent' })],
    [
      'a limit at which the process only waits for open calls',
      { type: 'limit.reached', limit: 'budgetUsd', used: 1, of: 2, action: 'wait', scope: 'a' },
    ],
    ['a limit of another process', { type: 'limit.reached', limit: 'budgetUsd', used: 2, of: 2, action: 'suspend', scope: 'b' }],
    ['the hold of a budget, whose limit has a notice of its own', heldFor('budget')],
    ['a pause by the user', heldFor('user')],
    ['a hold by a stopping daemon', heldFor('daemon-shutdown')],
    ['a rate limit after which the process wakes', heldFor('rate-limit', { until: 9, wake: true })],
    ['the end of a liveness problem', { type: 'liveness.changed', word: 'alive', since: 1, evidence: '' }],
    ['a context that is nearly full', { type: 'limit.warned', limit: 'context', used: 8, of: 10 }],
    ['a step', { type: 'model.started', step: 1, attempt: 1, model: 'm' }],
  ])('%s', (_, body) => {
    expect(noticeText(body)).toBeNull()
  })

  test('the end of a child, which is reported to its parent', () => {
    const child = { ...makeRow(), parentUuid: 'b' }
    expect(noticeText(processExited({ code: 0, reason: 'completed', cause: 'agent' }), child)).toBeNull()
    expect(noticeText({ type: 'process.waiting', question: 'go?' }, child)).not.toBeNull()
  })

  test('a process that has left the table', () => {
    expect(
      noticeOf(
        { uuid: 'a', seq: 9, cursor: 9, pid: 1, at: 5, body: processExited({ code: 0, reason: 'completed', cause: 'agent' }) },
        undefined,
      ),
    ).toBeNull()
  })
})

test('the text of an agent becomes one short line without control characters', () => {
  const text = noticeText({ type: 'process.waiting', question: `a\u001b[31m red\n\u0007line \u202e ${'x'.repeat(1_000)}` }) ?? ''
  expect(text).toMatch(/^waiting: docs \(PID 1\) waits for an answer: a red line x+…$/)
  expect(text.length).toBeLessThan(420)
})

describe('a question of a crew', () => {
  const humanTask = { id: 'which', kind: 'human', ask: { id: 'which.1', for: 'human' }, seqs: { text: 3 } }
  const gatedTask = { id: 'lexer', kind: 'work', ask: { id: 'lexer.2', for: 'gate' }, seqs: { text: 4 } }
  const crewProcess = (name: string | null = 'fix'): Process =>
    ({ ...makeRow(), spec: { ...makeRow().spec, name }, crew: { tasks: [humanTask, gatedTask] } }) as unknown as Process
  const taskAsked = (id: string, question: string): FactBody => ({
    type: 'process.waiting',
    question,
    ask: { id, kind: 'question', text: question, options: [], callId: null, at: 5 },
  })
  const noticeOfAsk = (id: string, process = crewProcess(), question = 'May it be committed?') =>
    noticeOf({ uuid: 'a', seq: 9, cursor: 9, pid: 1, at: 5, body: taskAsked(id, question) }, process)

  test('has a notice of its own, with the commands that show and answer it', () => {
    expect(noticeOfAsk('lexer.2')).toMatchObject({
      key: 'a waiting lexer.2',
      text: 'fix (PID 1) asks: May it be committed? (reeve crew diff fix lexer, reeve crew approve fix lexer, reeve crew deny fix lexer TEXT)',
      command: 'reeve crew diff fix lexer',
    })
    expect(noticeOfAsk('lexer.2')).not.toHaveProperty('questionSeq')
    expect(noticeOfAsk('which.1')).toMatchObject({ key: 'a waiting which.1', command: 'reeve answer --ask which fix', questionSeq: 3 })
    expect(noticeOfAsk('lexer.2', crewProcess('a b; rm'))?.command).toBe('reeve crew diff 1 lexer')
    expect(noticeOfAsk('lexer.2', crewProcess(null))?.command).toBe('reeve crew diff 1 lexer')
  })

  test('is part of the notice of a human task; however long the question is, the notice has the command', () => {
    const notice = noticeOfAsk('which.1')
    if (!notice) throw new Error('no notice')
    expect(withQuestion(notice, 'which: The first\nor the \x1b[31msecond?').text).toBe(
      'fix (PID 1) asks: which: The first or the second? (reeve answer --ask which fix)',
    )
    const longText = withQuestion(notice, 'x'.repeat(1_000)).text
    expect(longText.length).toBe(400)
    expect(longText).toMatch(/x… \(reeve answer --ask which fix\)$/)
  })
})
