// The table and the tree of `reeve ps`: their columns, their width, colours, and control characters in texts.
import { expect, describe, test } from 'vitest'
import { treeBranches } from '../../../../src/cli/print/tree.ts'
import { psTableLines } from '../../../../src/cli/verbs/ps.ts'
import { captureOutput } from '../../../support/cli/captured-output.ts'
import { endedView, processView } from '../../../support/daemon/process-view.ts'

describe('the table of `ps`', () => {
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
    expect(psTableLines(rows, {}, captureOutput().out)).toEqual([
      'PID  ID        NAME  AGENT     STATUS       STEP  ELAPSED     COST  NOTE',
      '  5  deadbeef  docs  default   working         2       4s  $0.0123  write the manual',
      ' 12  11112222  -     default   ⏸ suspended     2   3m 12s  $0.0123  paused: by user',
      '  7  deadbeef  漢字  reviewer  failed          0       4s        -  write the manual',
    ])
  })

  test('keeps the note readable on a narrow terminal: the ID, the agent and the step are omitted first', () => {
    const note = 'asks: may it touch the files of the other project?'
    const readText = (columns: number): string[] => psTableLines([processView({ note })], {}, captureOutput().out, columns)
    expect(readText(120)[0]).toBe('PID  ID        NAME  AGENT    STATUS   STEP  ELAPSED     COST  NOTE')
    expect(readText(80)).toEqual([
      'PID  NAME  STATUS   ELAPSED     COST  NOTE',
      '  5  docs  working       4s  $0.0123  asks: may it touch the files of the other…',
    ])
    expect([readText(100)[0], readText(84)[0]]).toEqual([
      'PID  NAME  AGENT    STATUS   STEP  ELAPSED     COST  NOTE',
      'PID  NAME  STATUS   STEP  ELAPSED     COST  NOTE',
    ])
  })

  test.each([[{ REEVE_ASCII: '1' }], [{ LANG: 'C' }], [{ LANG: '' }], [{ LC_ALL: 'POSIX' }]])(
    'marks suspended processes with [P] if the environment has %j',
    (env) => {
      expect(psTableLines(rows, {}, captureOutput({ env }).out)[2]).toContain('[P] suspended')
    },
  )

  test('marks a cost that is a lower bound', () => {
    expect(psTableLines([processView({ usage: { ...processView().usage, unpriced: true } })], {}, captureOutput().out)[1]).toContain(
      '$0.0123+',
    )
  })

  test('prints no control characters of an agent', () => {
    const hostileProcess = processView({ name: '\x1b[2Jx', note: 'a\nb\x07', agent: '\u202eevil' })
    expect(psTableLines([hostileProcess], {}, captureOutput().out)[1]).toBe(
      '  5  deadbeef  x     evil   working     2       4s  $0.0123  a b',
    )
  })

  test('uses colours only on a terminal that allows them', () => {
    expect(psTableLines(rows, {}, captureOutput({ tty: true, color: true }).out)[1]).toContain('\x1b[32mworking')
    expect(psTableLines(rows, {}, captureOutput({ tty: true, color: true, env: { NO_COLOR: '1' } }).out)[1]).not.toContain('\x1b')
    expect(psTableLines(rows, {}, captureOutput({ tty: false, color: true }).out)[1]).not.toContain('\x1b')
    expect(psTableLines(rows, {}, captureOutput({ tty: true, color: true, env: { TERM: 'dumb' } }).out)[1]).not.toContain('\x1b')
  })

  test('fits the terminal', () => {
    for (const columns of [20, 40, 60]) {
      // Plain text without wide characters, so length is width.
      for (const line of psTableLines(rows.slice(0, 2), {}, captureOutput({ tty: true, columns }).out))
        expect(line.length).toBeLessThanOrEqual(columns)
    }
  })
})

describe('the tree', () => {
  const makeChild = (pid: number, ppid: number) => processView({ pid, ppid, name: `p${pid}` })
  const drawTree = (ascii: boolean) =>
    treeBranches([makeChild(1, 0), makeChild(4, 9), makeChild(2, 1), makeChild(3, 1), makeChild(5, 2)], ascii).map(
      ({ view, branch }) => `${branch}${view.name}`,
    )

  test('puts children below their parents; a row without a parent in the list is a root', () => {
    expect(drawTree(false)).toEqual(['p1', '├─ p2', '│  └─ p5', '└─ p3', 'p4'])
    expect(drawTree(true)).toEqual(['p1', '|- p2', '|  `- p5', '`- p3', 'p4'])
  })
})
