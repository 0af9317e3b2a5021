// The warnings before a stop of the daemon: which processes continue later, and which end as commands or as agents without a session.
import { expect, test } from 'vitest'
import { readStopEffects, stopWarnings } from '../../../../src/cli/service/stop-daemon.ts'
import type { Reeve } from '../../../../src/index.ts'

const BASE = {
  state: 'running',
  status: 'working',
  driver: 'command',
  format: null,
  interactive: false,
  sessionId: null,
  originUuid: null,
  turn: 1,
  input: false,
}

/** The warnings of a stop while these processes live; their PIDs count from 1. */
async function warningsOf(processes: readonly object[]): Promise<string[]> {
  const views = processes.map((fields, index) => ({ ...BASE, pid: index + 1, ...fields }))
  return stopWarnings(await readStopEffects({ list: () => Promise.resolve(views) } as unknown as Reeve))
}

const AGENT = { format: 'claude' }
const RERUN_IT = 'because it cannot continue later (`reeve resume --rerun` runs it again)'
const RERUN_THEM = 'because they cannot continue later (`reeve resume --rerun` runs them again)'

test.each<[string, readonly object[], readonly string[]]>([
  ['no process', [], []],
  ['an agent with a session', [{ ...AGENT, sessionId: 's' }], ['1 agent will be suspended, and continues at the next start: PID 1']],
  [
    'a forked agent that has the session of its origin',
    [{ ...AGENT, originUuid: 'o' }],
    ['1 agent will be suspended, and continues at the next start: PID 1'],
  ],
  ['a command', [{}], [`1 command will be ended, ${RERUN_IT}: PID 1`]],
  ['an agent without a session', [AGENT], [`1 agent will be ended, ${RERUN_IT}: PID 1`]],
  ['an agent of ACP without a session', [{ driver: 'acp' }], [`1 agent will be ended, ${RERUN_IT}: PID 1`]],
  ['a command and an agent without a session', [{}, AGENT], [`2 processes will be ended, ${RERUN_THEM}: PID 1, 2`]],
  [
    'an agent without a session and a command with input',
    [AGENT, { input: true }],
    [
      `1 agent will be ended, ${RERUN_IT}: PID 1`,
      '1 command will be ended, because it cannot continue later, nor run again: it had input: PID 2',
    ],
  ],
])('%s', async (_, processes, lines) => {
  expect(await warningsOf(processes)).toEqual(lines)
})
