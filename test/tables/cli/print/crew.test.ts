// Crews on a terminal: the tables of crews, members and tasks, and the page of a task. Also the rows below a followed crew, and the lines
// of its events.
import { PassThrough } from 'node:stream'
import { describe, expect, test } from 'vitest'
import type { CrewMemberView, CrewTaskView, CrewView, TaskDetailView } from '../../../../src/api/views/crew.ts'
import { CrewPrinter } from '../../../../src/cli/follow/crew-printer.ts'
import { toFact } from '../../../../src/cli/follow/event-to-fact.ts'
import { Output } from '../../../../src/cli/print/output.ts'
import {
  contextText,
  crewLines,
  crewResultLines,
  crewSummary,
  crewWaitLines,
  memberLines,
  taskLines,
  taskPage,
} from '../../../../src/cli/print/crew.ts'
import { liveCrewLines } from '../../../../src/cli/live/crew-rows.ts'
import type { Reeve } from '../../../../src/index.ts'
import { factEvent } from '../../../support/daemon/process-view.ts'
import { rowMap, rowOf } from '../../../support/faces/rows.ts'
import { makeAskView } from '../../../support/daemon/ask-view.ts'

const STYLE = { paint: (_: string, text: string): string => text, ellipsis: '…', ascii: false, pauseMark: '⏸' }
const ROW_STYLE = { columns: 90, ascii: false, ellipsis: '…', pauseMark: '⏸', paintMessage: (_: string, text: string): string => text }
const SPENT = { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0, costUsd: 0, unpriced: false }
const AT = '2026-11-20T12:00:00.000Z'

const makeTask = (id: string, changes: Partial<CrewTaskView> = {}): CrewTaskView => ({
  id,
  kind: 'work',
  title: `The ${id}`,
  state: 'queued',
  needs: [],
  role: null,
  reviews: true,
  priority: 0,
  limits: null,
  agent: null,
  model: null,
  check: null,
  verify: null,
  implementer: null,
  implementers: [],
  reviewer: null,
  verdict: null,
  attempts: 0,
  denials: 0,
  base: null,
  commit: null,
  merged: null,
  conflict: null,
  reason: null,
  byWord: null,
  salvaged: null,
  asks: null,
  spent: SPENT,
  addedAt: AT,
  startedAt: null,
  endedAt: null,
  ...changes,
})
const makeMember = (id: string, changes: Partial<CrewMemberView> = {}): CrewMemberView => ({
  id,
  role: 'generic',
  state: 'on',
  phase: 'idle',
  task: null,
  leave: null,
  uuid: `uuid-${id}`,
  pid: 7,
  agent: 'default',
  status: 'ready',
  worktree: null,
  queueCount: 0,
  contextTokens: 0,
  contextWindow: null,
  costUsd: 0,
  unpriced: false,
  elapsedMs: 61_000,
  note: null,
  holds: [],
  asks: [],
  ...changes,
})
const makeCrew = (changes: Partial<CrewView> = {}): CrewView => ({
  uuid: '01920000-0000-7000-8000-0000000000ab',
  pid: 5,
  name: 'fix',
  status: 'ready',
  cwd: '/src',
  coordinator: 'engine',
  gate: 'auto',
  merge: 'auto',
  reviews: true,
  branch: 'reeve/fix',
  base: 'a'.repeat(40),
  createdAt: AT,
  exitedAt: null,
  elapsedMs: 125_000,
  costUsd: 0,
  unpriced: false,
  note: null,
  waitsFor: [],
  holds: [],
  asks: [],
  ending: null,
  exit: null,
  resumable: false,
  tasks: [],
  members: [],
  ...changes,
})
const ASK = makeAskView({ id: 'a.1', text: 'May it be\ncommitted?', at: AT })

const TASKS = [
  makeTask('lexer', {
    state: 'done',
    implementer: 'worker-1',
    implementers: ['worker-1'],
    reviewer: 'worker-2',
    attempts: 1,
    denials: 1,
    commit: 'c'.repeat(40),
    merged: 'd'.repeat(40),
    spent: { ...SPENT, costUsd: 0.25, unpriced: true },
  }),
  makeTask('parser', { state: 'in_review', implementer: 'worker-2', reviewer: 'worker-1', needs: ['lexer'] }),
  makeTask('docs', { state: 'failed', attempts: 3, reason: 'denied 3 times' }),
  makeTask('ship', { state: 'waiting', asks: 'gate' }),
]

test('the table of crews shows the progress and the waits of each', () => {
  expect(
    crewLines(
      [
        makeCrew({
          tasks: TASKS,
          members: [makeMember('worker-1'), makeMember('worker-2', { state: 'gone' }), makeMember('coordinator', { role: 'coordinator' })],
          costUsd: 1.5,
          waitsFor: ['parser waits'],
        }),
        makeCrew({ pid: 6, name: null, status: 'waiting', asks: [ASK] }),
        makeCrew({ pid: 7, status: 'suspended', note: 'paused: by user', waitsFor: ['x'] }),
        makeCrew({ pid: 8, status: 'failed', exit: { code: 1, reason: 'a task has failed' } }),
        makeCrew({
          pid: 9,
          status: 'completed',
          ending: { outcome: 'completed', summary: 'all is done' },
          exit: { code: 0, reason: 'completed' },
          asks: [ASK],
        }),
      ],
      STYLE,
      Infinity,
    ),
  ).toEqual([
    'PID  ID        NAME  STATUS       TASKS     WORKERS  ELAPSED   COST  NOTE',
    '  5  000000ab  fix   ready        1/4 done        1   2m 05s  $1.50  parser waits',
    '  6  000000ab  -     waiting      0/0 done        0   2m 05s      -  asks: May it be committed?',
    '  7  000000ab  fix   ⏸ suspended  0/0 done        0   2m 05s      -  paused: by user',
    '  8  000000ab  fix   failed       0/0 done        -   2m 05s      -  a task has failed',
    '  9  000000ab  fix   completed    0/0 done        -   2m 05s      -  all is done',
  ])
})

test('the table of members shows the current members, or all', () => {
  const crewView = makeCrew({
    members: [
      makeMember('worker-1', {
        phase: 'addressing_feedback',
        task: 'lexer',
        status: 'working',
        contextTokens: 82_000,
        contextWindow: 200_000,
        costUsd: 0.4,
        queueCount: 2,
      }),
      makeMember('worker-2', { state: 'starting', uuid: null, pid: null, status: null, elapsedMs: 0 }),
      makeMember('worker-3', { state: 'gone', status: 'failed', leave: { how: 'lost', reason: 'exit code 1' }, note: 'exit code 1' }),
    ],
  })
  const allLines = [
    'MEMBER    ROLE     PHASE                TASK   STATUS    PID  CONTEXT  ELAPSED   COST  NOTE',
    'worker-1  generic  addressing feedback  lexer  working     7     41 %   1m 01s  $0.40  2 queued',
    'worker-2  generic  idle                 -      starting    -        -       0s      -',
    'worker-3  generic  idle                 -      lost        7        -   1m 01s  $0.00  exit code 1',
  ]
  expect(memberLines(crewView, STYLE, Infinity, true)).toEqual(allLines)
  expect(memberLines(crewView, STYLE, Infinity).length).toBe(3)
})

test('the table of members on 80 columns has complete activities and costs, and shrinks other columns', () => {
  const crewView = makeCrew({
    members: [
      makeMember('coordinator', { role: 'coordinator', status: 'waiting', pid: 12_345, costUsd: 1.25 }),
      makeMember('worker-1', {
        role: 'implementer',
        phase: 'addressing_feedback',
        task: 'parser',
        status: 'suspended',
        contextTokens: 82_000,
        contextWindow: 200_000,
        costUsd: 0.4,
        queueCount: 2,
        note: 'paused: by user',
      }),
    ],
  })
  expect(memberLines(crewView, STYLE, 80)).toEqual([
    'MEMBER       ROLE         PHASE                TASK    STATUS         PID   COST',
    'coordinator  coordinator  idle                 -       waiting      12345  $1.25',
    'worker-1     implementer  addressing feedback  parser  ⏸ suspended      7  $0.40',
  ])
  expect(memberLines(crewView, STYLE, 101)[2]).toBe(
    'worker-1     implementer  addressing feedback  parser  ⏸ suspended      7     41 %  $0.40  2 queued;…',
  )
  const longCrew = makeCrew({
    members: [
      makeMember('worker-1', {
        role: 'reviewer',
        phase: 'reviewing',
        task: 'a-task-with-a-name-as-long-as-a-sentence',
        status: 'working',
        costUsd: 0.4,
      }),
    ],
  })
  expect(memberLines(longCrew, STYLE, 80)[1]).toBe('worker-1  reviewer  reviewing  a-task-with-a-name-as…  working    7  $0.40')
})

test('the tables of crews and tasks on 80 columns keep the waits readable', () => {
  expect(
    crewLines(
      [makeCrew({ name: 'refactor-the-parser', status: 'suspended', note: 'a budget is used up', tasks: TASKS, costUsd: 1.5 })],
      STYLE,
      80,
    )[1],
  ).toBe('  5  000000ab  refactor-the-parser  ⏸ suspended  1/4 done  $1.50  a budget is u…')
  expect(taskLines(TASKS, STYLE, 80)[3]).toBe('docs    failed     -            -              -  -      The docs (denied 3 tim…')
  for (const width of [20, 40, 79])
    for (const line of [...crewLines([makeCrew()], STYLE, width), ...taskLines(TASKS, STYLE, width)])
      expect(line.length).toBeLessThanOrEqual(width)
})

test.each([
  [0, null, '-'],
  [1_499, null, '1k'],
  [50_000, 200_000, '25 %'],
])('a context of %j tokens in a window of %j is shown as %j', (contextTokens, contextWindow, text) => {
  expect(contextText({ contextTokens, contextWindow })).toBe(text)
})

test('the table of tasks shows the assignee, the attempts and the problem of each', () => {
  expect(taskLines(TASKS, STYLE, Infinity)).toEqual([
    'TASK    STATE      IMPLEMENTER  REVIEWER  ATTEMPTS  COMMIT        COST  NEEDS  TITLE',
    'lexer   done       worker-1     worker-2         2  cccccccccc  $0.25+  -      The lexer',
    'parser  in review  worker-2     worker-1         1  -                -  lexer  The parser',
    'docs    failed     -            -                3  -                -  -      The docs (denied 3 times)',
    'ship    waiting    -            -                0  -                -  -      The ship (waits for you: the commit)',
  ])
  for (const line of taskLines(TASKS, STYLE, 60)) expect(line.length).toBeLessThanOrEqual(60)
})

test('the page of a task shows its history, and indents untrusted text without control characters', () => {
  const taskDetail: TaskDetailView = {
    ...makeTask('lexer', {
      state: 'failed',
      implementer: 'worker-2',
      implementers: ['worker-1', 'worker-2'],
      reason: 'denied',
      attempts: 2,
      denials: 1,
      needs: ['a', 'b'],
    }),
    text: 'Write it.\n\u001b[31mRed.',
    acceptance: '- It works.',
    report: null,
    comments: null,
    history: [
      { seq: 1, at: AT, type: 'task.added', what: 'added by user', text: null },
      { seq: 2, at: AT, type: 'task.verdict', what: 'DENIED by worker-3', text: 'one\ntwo' },
    ],
  }
  const page = taskPage(taskDetail, STYLE, Date.parse(AT))
  expect(page.map((line) => line.replace(/\d\d:00:00/, 'TIME'))).toEqual([
    'task         lexer  failed',
    'title        The lexer',
    'needs        a, b',
    'implementer  worker-2 (before: worker-1)',
    'attempts     2 (1 denial)',
    'reason       denied',
    '',
    'text',
    '  Write it.',
    '  Red.',
    '',
    'acceptance',
    '  - It works.',
    '',
    'history',
    '  TIME  added by user',
    '  TIME  DENIED by worker-3',
    '            one',
    '            two',
  ])
})

const KEY_HOLD = { reason: 'credentials', by: 'system', at: '2026-07-01T12:00:00.000Z' } as const

describe('the lines about a crew', () => {
  test('have its results and its cost', () => {
    expect(
      crewSummary(makeCrew({ tasks: [...TASKS, makeTask('x', { state: 'cancelled' })], members: [makeMember('worker-1')], costUsd: 0.5 })),
    ).toBe('fix (PID 5) ready | 1/5 tasks done, 1 failed, 1 cancelled | 1 worker | $0.50 | 2m 05s')
    expect(crewSummary(makeCrew({ name: null, status: 'completed', exit: { code: 0, reason: 'completed' } }))).toBe(
      'crew (PID 5) completed | 0/0 tasks done | 2m 05s',
    )
  })

  test.each<[string, Partial<CrewView>, string[]]>([
    [
      'of a held crew',
      { status: 'suspended', note: 'paused: daemon-crash', waitsFor: ['x'], asks: [ASK] },
      ['PID 5 (fix) is suspended: daemon-crash; `reeve crew resume fix` continues it'],
    ],
    [
      'of a crew and a member that are held for one key, which the resume of the crew continues',
      {
        status: 'suspended',
        note: 'paused: credentials (worker-1: K was refused: 401)',
        holds: [KEY_HOLD],
        members: [makeMember('worker-1', { status: 'suspended', note: 'paused: credentials (K was refused: 401)', holds: [KEY_HOLD] })],
      },
      [
        'PID 5 (fix) is suspended: credentials (worker-1: K was refused: 401); `reeve crew resume fix` continues it when the account is in order, or in a shell with another key',
      ],
    ],
    [
      'of a crew that asks and waits',
      { asks: [ASK], waitsFor: ['lexer "L" waits for the user: it is a question (reeve answer)', 'parser waits for lexer'] },
      ['PID 5 (fix) asks: May it be committed?; `reeve answer fix TEXT` answers', 'parser waits for lexer'],
    ],
    ['of a working crew, which has none', {}, []],
    [
      'of a crew whose member asks',
      { members: [makeMember('worker-1', { status: 'waiting', asks: [{ ...ASK, text: 'npm test?' }] }), makeMember('worker-2')] },
      ['PID 7 (worker-1) asks: npm test?; `reeve answer 7 TEXT` answers'],
    ],
    ['of an ended crew, which has none', { asks: [ASK], waitsFor: ['x'], exit: { code: 0, reason: 'completed' } }, []],
    [
      'of a crew that its time limit ended',
      { resumable: true, tasks: TASKS, exit: { code: 1, reason: 'timed out' } },
      [
        'its time limit ended it; not finished: parser (in review), ship (waiting)',
        '`reeve crew resume fix` continues it, with the same time limit again',
      ],
    ],
    [
      'of a stopped crew',
      { resumable: true, tasks: TASKS.slice(0, 1), exit: { code: 143, reason: 'SIGTERM from user' } },
      ['it was stopped (SIGTERM from user)', '`reeve crew resume fix` continues it'],
    ],
    [
      'of an interrupted crew',
      {
        resumable: true,
        tasks: [makeTask('a'), makeTask('b'), ...[1, 2, 3, 4, 5, 6, 7, 8, 9, 10].map((n) => makeTask(`t${n}`))],
        exit: { code: 1, reason: 'interrupted' },
      },
      [
        'it ended before its work was done (interrupted); not finished: a (queued), b (queued), t1 (queued), t2 (queued), t3 (queued), t4 (queued), t5 (queued), t6 (queued), t7 (queued), t8 (queued) and 2 more',
        '`reeve crew resume fix` continues it',
      ],
    ],
  ])('have the waits %s', (_, changes, lines) => {
    expect(crewWaitLines(makeCrew(changes))).toEqual(lines)
  })

  test.each<[string, Partial<CrewView>, string[]]>([
    ['while nothing is merged, which are none', { tasks: [makeTask('a')] }, []],
    ['after a merge', { tasks: TASKS }, ['the work is on the branch reeve/fix: `reeve diff fix`']],
    [
      'after the end',
      { tasks: TASKS, exit: { code: 0, reason: 'completed' } },
      [
        'the work is on the branch reeve/fix: `reeve diff fix`, then `reeve merge fix` or `reeve pr fix`',
        '`reeve crew report fix` shows who did what, and the cost',
      ],
    ],
    [
      'after an end whose merge is left to the user',
      { tasks: [makeTask('a', { state: 'done', commit: 'c'.repeat(40) })], exit: { code: 0, reason: 'completed' } },
      ['not merged: a (cccccccccc)', '`reeve crew report fix` shows who did what, and the cost'],
    ],
  ])('have the next commands %s', (_, changes, lines) => {
    expect(crewResultLines(makeCrew(changes))).toEqual(lines)
  })
})

describe('the rows below a followed crew', () => {
  const AS_READ = { rows: new Map(), ageMs: 0 }

  test('show the activity and waits of each member; no line is wider than the terminal', () => {
    const crewView = makeCrew({
      tasks: TASKS,
      waitsFor: ['docs "The docs" waits for a worker'],
      members: [
        makeMember('worker-1', { phase: 'reviewing', task: 'parser', status: 'working' }),
        makeMember('worker-2', {
          phase: 'awaiting_review',
          task: 'parser',
          status: 'suspended',
          note: 'paused: by user',
          holds: [{ reason: 'user', by: 'user', at: AT }],
        }),
        makeMember('worker-3', { state: 'starting', status: null }),
        makeMember('worker-4', {
          phase: 'implementing',
          task: 'docs',
          status: 'waiting',
          asks: [{ ...ASK, text: 'Go?' }],
          contextTokens: 5,
          contextWindow: 10,
          costUsd: 0.2,
        }),
        makeMember('worker-5', { state: 'gone' }),
      ],
    })
    expect(liveCrewLines(crewView, ROW_STYLE, AS_READ)).toEqual([
      '● fix (PID 5) ready | 1/4 tasks done, 1 failed | 4 workers | 2m 05s',
      '  PID 7 (worker-2) is suspended by user; `reeve resume 7` continues it',
      '  PID 7 (worker-4) asks: Go?; `reeve answer 7 TEXT` answers',
      '  docs "The docs" waits for a worker',
      '  worker-1  reviewing           parser The parser  1m 01s',
      '  worker-2  ⏸ awaiting review   parser The parser  1m 01s',
      '  worker-3  starting                               1m 01s',
      '  worker-4  implementing, asks  docs The docs      1m 01s  50 %  $0.20',
    ])
    for (const columns of [30, 40, 60])
      for (const line of liveCrewLines(crewView, { ...ROW_STYLE, columns }, AS_READ)) expect(line.length, line).toBeLessThanOrEqual(columns)
  })

  test('show the figures of the rows, and clocks that go on while their row runs', () => {
    const crewView = makeCrew({
      members: [
        makeMember('worker-1', { phase: 'implementing', status: 'working' }),
        makeMember('worker-2', { phase: 'implementing', status: 'working' }),
      ],
    })
    const rows = rowMap(
      rowOf({
        uuid: 'uuid-worker-1',
        ctx: { used: 1, window: 4, compactsAt: null },
        cost: { usd: 0.5, unpriced: false, estimated: false },
      }),
      rowOf({ uuid: 'uuid-worker-2', runsSince: null }),
    )
    expect(liveCrewLines(crewView, ROW_STYLE, { rows, ageMs: 10_000 }).slice(1)).toEqual([
      '  worker-1  implementing    1m 11s  25 %  $0.50',
      '  worker-2  implementing    1m 01s',
    ])
  })

  test('count the members that do not fit', () => {
    const crewView = makeCrew({ members: Array.from({ length: 14 }, (_, index) => makeMember(`worker-${index + 1}`)) })
    const rows = liveCrewLines(crewView, { ...ROW_STYLE, ascii: true }, AS_READ)
    expect(rows.length).toBe(12)
    expect(rows[0]).toMatch(/^\* fix/)
    expect(rows.at(-1)).toBe('  +4 more')
  })
})

test('a task that was only marked as done has no attempt, but its reason and a separate count', () => {
  const taskByWord = makeTask('look', { state: 'done', reason: 'answered in the thread', byWord: 'coordinator' })
  const crewView = makeCrew({ tasks: [taskByWord, makeTask('lexer', { state: 'done', implementer: 'worker-1', startedAt: AT })] })
  expect(
    taskLines(crewView.tasks, STYLE, Infinity)
      .slice(1)
      .map((line) => line.split(/\s{2,}/)),
  ).toEqual([
    ['look', 'done', '-', '-', '0', '-', '-', '-', 'The look (unchecked: answered in the thread)'],
    ['lexer', 'done', 'worker-1', '-', '1', '-', '$0.00', '-', 'The lexer'],
  ])
  expect(crewSummary(crewView)).toContain('2/2 tasks done (1 unchecked)')
  expect(crewLines([crewView], STYLE, Infinity)[1]).toContain('2/2 done (1 unchecked)')
  expect(crewResultLines(crewView)).toContain('done unchecked, with nothing reviewed or committed: look (answered in the thread)')
})

test('a failure of a crew is printed once, with its time, in the line of its task or its own line', async () => {
  const stream = Object.assign(new PassThrough({ encoding: 'utf8' }), { isTTY: false }) as unknown as NodeJS.WriteStream
  const view = new CrewPrinter(
    new Output({ json: false, quiet: false, color: false }, { LANG: 'C.UTF-8' }, { stdout: stream, stderr: stream }),
    {} as Reeve,
  )
  for (const body of [
    { type: 'task.requeued', task: 'a', reason: 'worker-2 ended its turn without a report', counts: true },
    { type: 'process.error', message: 'worker-2: worker-2 ended its turn without a report' },
    { type: 'task.failed', task: 'a', reason: 'all 3 attempts failed; the last reason: worker-2 ended its turn without a report' },
    { type: 'process.error', message: 'worker-1: the disk is full' },
    {
      type: 'crew.setup',
      member: 'worker-3',
      ok: false,
      command: 'npm ci',
      ran: { end: 'exited', code: 1, signal: null, ms: 5, output: 'no network', left: 0 },
      copied: 0,
      skipped: [],
    },
    { type: 'crew.left', member: 'worker-3', how: 'lost', reason: 'setup failed: no network' },
    { type: 'process.error', message: 'worker-3 was lost: setup failed: no network' },
    { type: 'task.unreviewed', task: 'b', member: 'worker-3', reason: 'worker-3 was lost: setup failed: no network' },
    { type: 'task.requeued', task: 'b', reason: 'setup failed: no network', counts: false },
    { type: 'process.error', message: 'a turn of coordinator failed: 401' },
  ]) {
    const event = factEvent(1, body)
    await view.printEvent(event, toFact(event))
  }
  const lines = ((stream.read() as string | null) ?? '')
    .trimEnd()
    .split('\n')
    .map((line) => line.replace(/^\S+( \S+)?(?= {2})/, 'TIME'))
  expect(lines).toEqual([
    'TIME  a             attempt failed: worker-2 ended its turn without a report',
    'TIME  a             failed: all 3 attempts failed',
    'TIME  worker-1      the disk is full',
    'TIME  worker-3      lost: setup failed: no network',
    'TIME  b             worker-3 gave no verdict: worker-3 was lost',
    'TIME  b             back in the queue: setup failed: no network',
    'TIME                a turn of coordinator failed: 401',
  ])
})
