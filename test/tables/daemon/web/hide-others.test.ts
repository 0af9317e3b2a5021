// A session for a subtree reads nothing about other processes. What belongs to the subtree, and the texts of agents, stay.
import { expect, test } from 'vitest'
import { OtherProcesses } from '../../../../src/daemon/web/hide-others.ts'
import type { Process } from '../../../../src/kernel/model/process.ts'
import { uuidOf } from '../../../support/store/facts.ts'

const [ABOVE, ROOT, CHILD, BESIDE] = [1, 2, 3, 4].map((number) => uuidOf(number)) as [string, string, string, string]
const processOf = (uuid: string, pid: number, name: string | null, parent: string | null, life: object = { state: 'dead' }): Process =>
  ({ uuid, pid, spec: { name }, parent, parentUuid: parent, life }) as unknown as Process
const HELD = { state: 'running', holds: [{ reason: 'user', by: `agent:${BESIDE}`, at: 0 }] }
const PROCESSES = new Map(
  [
    processOf(ABOVE, 11, 'fix', null),
    processOf(ROOT, 12, 'root', ABOVE),
    processOf(CHILD, 13, 'child', ROOT, HELD),
    processOf(BESIDE, 14, null, ABOVE),
  ].map((process) => [process.uuid, process]),
)
const hide = (answer: unknown): Promise<unknown> => new OtherProcesses(async (uuid) => PROCESSES.get(uuid), ROOT).hideIn(answer)

test.each<[string, unknown, unknown]>([
  ['the parent of the root', { uuid: ROOT, parent: ABOVE, ppid: 11 }, { uuid: ROOT, parent: null, ppid: 0 }],
  ['nothing of a parent in the subtree', { uuid: CHILD, parent: ROOT, ppid: 12 }, { uuid: CHILD, parent: ROOT, ppid: 12 }],
  ['the origin of a fork', { uuid: ROOT, origin: { uuid: BESIDE, step: 3 } }, { uuid: ROOT, origin: null }],
  ['a process that is no longer stored', { uuid: ROOT, budgetOf: uuidOf(9) }, { uuid: ROOT, budgetOf: null }],
  [
    'a sender, but not the user',
    { signals: [{ by: `agent:${BESIDE}` }, { by: 'user' }] },
    { signals: [{ by: 'agent:hidden' }, { by: 'user' }] },
  ],
  ['the root of a hold', { holds: [{ reason: 'subtree', by: 'user', root: ABOVE }] }, { holds: [{ reason: 'subtree', by: 'user' }] }],
  [
    'limits of other processes',
    {
      limitUse: [
        { limit: 'budgetUsd', of: 1, scope: null },
        { limit: 'budgetUsd', of: 5, scope: ABOVE },
      ],
    },
    { limitUse: [{ limit: 'budgetUsd', of: 1, scope: null }] },
  ],
  [
    'names and PIDs in sentences of reeve, but only whole words',
    { uuid: CHILD, why: { kind: 'hold:user', text: 'paused with fix by PID 14 for fix-up', since: 'T' }, note: 'fix waits' },
    {
      uuid: CHILD,
      why: { kind: 'hold:user', text: 'paused with another process by another process for fix-up', since: 'T' },
      note: 'another process waits',
    },
  ],
  [
    'the parent, but no text of an agent',
    { uuid: CHILD, parent: ABOVE, lastText: 'I fix it.' },
    { uuid: CHILD, parent: null, lastText: 'I fix it.' },
  ],
])('hides %s', async (_, answer, shown) => {
  expect(await hide(answer)).toEqual(shown)
})
