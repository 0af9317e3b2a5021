// The key `liveness`: what may stand there, in agent files and in config.yaml, and what becomes of it.
import { describe, expect, test } from 'vitest'
import { parseAgent } from '../../src/config/agent-file.ts'
import { LIVENESS_DEFAULTS, LIVENESS_KEYS, livenessFileRule, livenessOf, livenessRule } from '../../src/config/liveness.ts'
import { LIVENESS } from '../../src/kernel/liveness.ts'

function agent(...lines: readonly string[]): ReturnType<typeof parseAgent> {
  return parseAgent(['---', 'description: d', ...lines, '---', 'You are.'].join('\n'), '/a/x.md', 'project')
}

test('the defaults are what is built in', () => {
  expect(livenessOf(LIVENESS_DEFAULTS)).toEqual(LIVENESS)
  expect(Object.keys(LIVENESS_DEFAULTS)).toEqual(LIVENESS_KEYS)
  expect(livenessRule.safeParse(LIVENESS).success).toBe(true)
})

test('an agent file says what is otherwise, and that alone is recorded', () => {
  expect(agent('liveness: { silent: 90s, stalled: off, policy: interrupt, loop: 3, errors: off }', 'wake: true')).toMatchObject({
    ok: true, value: { liveness: { silentMs: 90_000, stalledMs: null, policy: 'interrupt', loop: 3, errors: null }, wake: true, unsupported: [] },
  })
  const plain = agent()
  expect(plain.ok && ('liveness' in plain.value || 'wake' in plain.value)).toBe(false)
})

describe('refused, with its line', () => {
  test.each([
    ['liveness: { silent: soon }', /silent.*expected a duration/],
    ['liveness: { silent: 0s }', /silent.*expected a duration/],
    ['liveness: { loop: 1 }', /loop.*from 2 to 100/],
    ['liveness: { policy: kill }', /policy/],
    ['liveness: { quiet: 1m }', /quiet/],
    ['liveness: { errors: 12 }', /errors.*cannot be more than/],
    ['wake: maybe', /wake/],
  ])('%s', (line, words) => {
    const parsed = agent(line)
    expect(parsed).toMatchObject({ ok: false, problem: { line: 3 } })
    expect(parsed.ok ? '' : parsed.problem.message).toMatch(words)
  })
})

test('off is said in both ways that readers of YAML know', () => {
  for (const off of ['off', false]) expect(livenessOf(livenessFileRule.parse({ waiting: off, loop: off }))).toEqual({ waitingMs: null, loop: null })
})
