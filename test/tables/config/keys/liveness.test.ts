// The key `liveness` in agent files and in config.yaml: its values, and their recorded form.
import { describe, expect, test } from 'vitest'
import { parseAgent } from '../../../../src/config/agents/agent-file.ts'
import { LIVENESS_DEFAULTS, LIVENESS_KEYS, livenessFileRule, toLivenessSpec, livenessRule } from '../../../../src/config/keys/liveness.ts'
import { DEFAULT_THRESHOLDS } from '../../../../src/kernel/decide/liveness/liveness.ts'

function parseAgentWith(...lines: readonly string[]): ReturnType<typeof parseAgent> {
  return parseAgent(['---', 'description: d', ...lines, '---', 'You are.'].join('\n'), '/a/x.md', 'project')
}

test('the defaults match those of the kernel', () => {
  expect(toLivenessSpec(LIVENESS_DEFAULTS)).toEqual(DEFAULT_THRESHOLDS)
  expect(Object.keys(LIVENESS_DEFAULTS)).toEqual(LIVENESS_KEYS)
  expect(livenessRule.safeParse(DEFAULT_THRESHOLDS).success).toBe(true)
})

test('only the values of the agent file are recorded', () => {
  expect(parseAgentWith('liveness: { silent: 90s, stalled: off, policy: interrupt, loop: 3, errors: off }', 'wake: true')).toMatchObject({
    ok: true,
    value: { liveness: { silentMs: 90_000, stalledMs: null, policy: 'interrupt', loop: 3, errors: null }, wake: true, unsupported: [] },
  })
  const agent = parseAgentWith()
  expect(agent.ok && ('liveness' in agent.value || 'wake' in agent.value)).toBe(false)
})

describe('an invalid value is refused with its line', () => {
  test.each([
    ['liveness: { silent: soon }', /silent.*expected a duration/],
    ['liveness: { silent: 0s }', /silent.*expected a duration/],
    ['liveness: { loop: 1 }', /loop.*from 2 to 100/],
    ['liveness: { policy: kill }', /policy/],
    ['liveness: { quiet: 1m }', /quiet/],
    ['liveness: { errors: 12 }', /errors.*cannot be more than/],
    ['wake: maybe', /wake/],
  ])('%s', (line, message) => {
    const parsed = parseAgentWith(line)
    expect(parsed).toMatchObject({ ok: false, problem: { line: 3 } })
    expect(parsed.ok ? '' : parsed.problem.message).toMatch(message)
  })
})

test('`off` is accepted as a text and as false, because YAML versions differ', () => {
  for (const value of ['off', false])
    expect(toLivenessSpec(livenessFileRule.parse({ waiting: value, loop: value }))).toEqual({ waitingMs: null, loop: null })
})
