// The plan of an agent, from the note about an external agent and from the input of a tool for lists.
import { expect, test } from 'vitest'
import { planIn, planLines, planOfCall, planSummary } from '../../../../src/cli/follow/agent-plan.ts'
import type { FactBody } from '../../../../src/kernel/model/facts.ts'

const note = (text: string): FactBody => ({ type: 'process.note', text })
const STYLE = { ascii: false, ellipsis: '…', paintMessage: (_: string, text: string) => text }

test('a plan in a note has its entries, also with semicolons in them', () => {
  const plan = planIn(note('plan: [x] read a; b; [>] fix it; [ ] run')) ?? []
  expect(plan.map(({ text, state }) => `${state} ${text}`)).toEqual(['done read a; b', 'now fix it', 'later run'])
  expect(planSummary(plan)).toBe('plan 1 of 3: fix it')
  expect(planLines(plan, 20, STYLE)).toEqual(['✓ read a; b', '▸ fix it', '· run'])
  expect(planLines(plan, 20, { ...STYLE, ascii: true })[1]).toBe('[>] fix it')
})

test.each([
  ['TodoWrite', { todos: [{ content: 'a\x1b[2Jb', status: 'in_progress' }] }],
  ['update_plan', { plan: [{ step: 'a\x1b[2Jb', status: 'in_progress' }] }],
])('the input of %s is a plan, without control characters', (name, input) => {
  const plan = planOfCall(name, input) ?? []
  expect(planLines(plan, 40, STYLE).join()).not.toContain('\x1b')
  expect(planSummary(plan)).toContain('plan 0 of 1: a')
})

test.each([
  ['bash', { plan: [{ step: 'a', status: 'pending' }] }],
  ['TodoWrite', { todos: 'a' }],
  ['TodoWrite', { todos: [1, null] }],
])('%s with %j is not a plan', (name, input) => {
  expect(planOfCall(name, input)).toBeNull()
  expect(planIn(note('plan: none'))).toBeNull()
})
