// What the dialog of a resume offers and sends, and its command line.
import { expect, test } from 'vitest'
import type { RowView } from '../../../src/api/views/rows.ts'
import { isAmountValid, mustRerun, resumeBody, resumeChoices, resumeCommand, type ResumeFields } from '../../../web/dialogs/resume-form.ts'
import { BIRTH, rowOf } from '../../support/faces/rows.ts'

const EMPTY: ResumeFields = { message: '', model: '', effort: '', limit: 'budgetUsd', amount: '', rerun: false, withBelow: true }
const ALL: ResumeFields = { ...EMPTY, message: 'go on', model: 'a/b', effort: 'high', amount: '5', rerun: true }
const SUMS = rowOf().sub
const ended = (fields: Partial<RowView> = {}): RowView => rowOf({ pid: 7, status: 'failed', endedAt: BIRTH, ...fields })
const held = (fields: Partial<RowView> = {}): RowView => rowOf({ pid: 7, status: 'suspended', ...fields })

test.each<[string, RowView, string]>([
  ['an ended agent', ended(), 'message model'],
  ['an ended external agent', ended({ driver: 'acp' }), 'message model rerun'],
  ['an ended command', ended({ kind: 'command', driver: 'command' }), 'message rerun'],
  ['an ended crew', ended({ kind: 'crew', driver: 'crew' }), ''],
  ['a held agent', held(), 'message'],
  ['a held tree', held({ sub: { ...SUMS, held: 3 } }), 'message withBelow'],
])('%s can have other choices', (_, row, expected) => {
  const choices = Object.entries(resumeChoices(row)).flatMap(([name, isOffered]) => (isOffered ? name : []))
  expect(choices.join(' ')).toBe(expected)
})

test.each<[string, RowView, ResumeFields, object, string]>([
  ['nothing', ended(), EMPTY, {}, 'reeve resume 7'],
  [
    'all that was filled in',
    ended({ name: 'docs' }),
    ALL,
    { message: 'go on', model: 'a/b', effort: 'high', raise: { budgetUsd: 5 } },
    'reeve resume --model a/b --effort high --budget-usd +5 --message go on docs',
  ],
  [
    'no message to a run from the beginning',
    ended({ driver: 'acp' }),
    { ...EMPTY, message: 'x', rerun: true },
    { rerun: true },
    'reeve resume --rerun 7',
  ],
  [
    'no model to a held process',
    held(),
    ALL,
    { message: 'go on', raise: { budgetUsd: 5 } },
    'reeve resume --budget-usd +5 --message go on 7',
  ],
  [
    'a new limit',
    held(),
    { ...EMPTY, limit: 'timeoutMs', amount: '10' },
    { limits: { timeoutMs: 600_000 } },
    'reeve resume --timeout 10m 7',
  ],
  ['all below', held({ sub: { ...SUMS, held: 2 } }), EMPTY, { subtree: true }, 'reeve resume --subtree 7'],
  ['no limit for spaces', held(), { ...EMPTY, amount: ' ' }, {}, 'reeve resume 7'],
])('the request has %s', (_, row, fields, body, command) => {
  const limits = { budgetUsd: 5 }
  expect(resumeBody(row, fields, limits)).toEqual(body)
  expect(resumeCommand(row, fields, limits)?.join(' ')).toBe(command)
})

test.each(['much', '5,00', '-5', '0', '5 USD', 'Infinity'])('nothing is sent with the amount %j', (amount) => {
  const fields = { ...EMPTY, message: 'go on', amount }
  expect(isAmountValid(fields)).toBe(false)
  expect(resumeBody(held(), fields, {})).toBe(null)
  expect(resumeCommand(held(), fields, {})).toBe(null)
})

test.each([
  ['native', 3, null, false],
  ['command', 0, null, true],
  ['command', 2, 'a session', false],
  ['acp', 0, null, false],
  ['acp', 1, null, true],
] as const)('a process of the driver %s with %d turns and the session %s must run again: %s', (driver, turn, sessionId, expected) => {
  expect(mustRerun({ driver, turn }, { sessionId })).toBe(expected)
})
