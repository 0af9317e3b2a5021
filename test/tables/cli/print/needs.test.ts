// What waits for the user on a terminal: the table, and each need with its evidence.
import { describe, expect, test } from 'vitest'
import type { NeedView } from '../../../../src/api/views/needs.ts'
import type { AskDiffView } from '../../../../src/api/views/process.ts'
import { evidenceLines, needLines } from '../../../../src/cli/print/needs.ts'
import { makeAskView } from '../../../support/daemon/ask-view.ts'

const AT = '2026-07-01T12:00:00.000Z'
const NOW = Date.parse(AT) + 40_000
const STYLE = { columns: 100, ellipsis: '…', paint: (_: unknown, text: string) => text } as Parameters<typeof needLines>[1]
const makeNeed = (changes: Partial<NeedView> = {}): NeedView => ({
  id: 'n',
  uuid: 'u',
  pid: 5,
  name: 'docs',
  root: 'u',
  rootName: 'docs',
  kind: 'edit',
  rank: 1,
  at: AT,
  title: 'edit: a.ts',
  seen: false,
  snoozedUntil: null,
  ask: null,
  hold: null,
  task: null,
  options: [],
  commands: ['reeve answer 5 NUMBER'],
  evidence: { note: null, message: null, error: null, report: null, text: null, change: null },
  ...changes,
})
const makeDiff = (changes: Partial<AskDiffView>): AskDiffView => ({
  path: 'a.ts',
  old: '',
  new: '',
  oldKnown: true,
  equalBefore: 0,
  equalAfter: 0,
  cut: 0,
  ...changes,
})

test('the table has a command for each need, and names the root of a process without a name', () => {
  const child = makeNeed({ pid: 6, name: null, uuid: 'v', rootName: 'shop', kind: 'command', title: 'bash:\x1b[2J ls' })
  expect(needLines([makeNeed(), child, makeNeed({ name: null, rootName: null })], STYLE, NOW)).toEqual([
    'PID  NAME     KIND     SINCE  WHAT        COMMAND',
    '  5  docs     edit       40s  edit: a.ts  reeve answer 5 NUMBER',
    '  6  in shop  command    40s  bash: ls    reeve answer 5 NUMBER',
    '  5  -        edit       40s  edit: a.ts  reeve answer 5 NUMBER',
  ])
})

test('a narrow terminal shortens the title of a need, not its command', () => {
  const [, line] = needLines([makeNeed({ title: 'x'.repeat(200) })], { ...STYLE, columns: 80 }, NOW)
  expect(line).toMatch(/x… {2}reeve answer 5 NUMBER$/)
})

describe('the evidence', () => {
  const linesOfDiff = (diff: Partial<AskDiffView>): string[] => {
    const ask = makeAskView({ text: 'edit: a.ts\nold_text: a', diff: [makeDiff(diff)] })
    return evidenceLines(makeNeed({ ask, commands: [] }), STYLE, NOW).slice(2)
  }

  test('has the first line of the question, the changed lines with some around them, and what the agent wrote', () => {
    const old = 'a\nb\nc\nd\ne\nf\ng\nh\ni\n'
    const ask = makeAskView({
      text: 'edit: a.ts\nold_text: e',
      options: [{ id: 'allow', name: 'Allow', kind: 'allow_once' }],
      diff: [makeDiff({ old, new: old.replace('e', 'E') })],
      message: 'I fix it.',
      source: 'said',
      moreFiles: 2,
    })
    expect(evidenceLines(makeNeed({ ask }), STYLE, NOW)).toEqual([
      'PID 5 (docs): edit, 40s',
      '  edit: a.ts',
      '    1 Allow',
      '  a.ts',
      '   (1 equal lines)',
      '   b',
      '   c',
      '   d',
      '  -e',
      '  +E',
      '   f',
      '   g',
      '   h',
      '   (1 equal lines)',
      '  (and 2 more files)',
      '  last text:',
      '  | I fix it.',
      '  The agent describes the call itself.',
      '  reeve answer 5 NUMBER',
    ])
  })

  test('states what is left out', () => {
    expect(linesOfDiff({ old: null, new: 'a\n', cut: 9 })).toEqual(['  new file a.ts', '  +a', '   (9 characters are not shown)'])
    expect(linesOfDiff({ old: '', new: 'a', oldKnown: false })).toEqual(['  a.ts (its old text is not known)', '  +a'])
    expect(linesOfDiff({ old: 'a', new: 'b', equalBefore: 7, equalAfter: 8 })).toEqual([
      '  a.ts',
      '   (7 equal lines)',
      '  -a',
      '  +b',
      '   (8 equal lines)',
    ])
  })

  test('of an ended process has its error, and of a task its text and report', () => {
    const failed = makeNeed({
      kind: 'failed',
      title: 'exit code 3',
      evidence: { ...makeNeed().evidence, error: 'exit code 3', message: 'so far' },
    })
    expect(evidenceLines(failed, STYLE, NOW)).toContain('  | exit code 3')
    const task = { id: 'a', title: 'A', state: 'waiting', implementer: null, reviewer: null, verdict: null, passed: null }
    const gate = makeNeed({ kind: 'gate', task, evidence: { ...makeNeed().evidence, text: 'Write it.', report: 'done' } })
    expect(evidenceLines(gate, STYLE, NOW).slice(2, -1)).toEqual([
      '  task a (A), waiting',
      '  its task:',
      '  | Write it.',
      '  reported:',
      '  | done',
    ])
  })
})
