// Script files: an error has its line, and a long file is parsed in slices. The test sets the clock.
import { describe, expect, test } from 'vitest'
import { parseScript } from '../../../../../src/drivers/native/scripts/script-file.ts'
import { EventLoopTurns } from '../../../../../src/drivers/common/event-loop-turns.ts'
import { countTurnsDuring, makeAdvancingClock } from '../../../../support/loop-turns.ts'

const STEPS = 1_000

describe('a mistake is reported with its line', () => {
  test.each([
    ['', 1, 'a script must be a list, or have a list as `steps` or `rules`'],
    ['- text: a\n- txt: b\n', 2, '1: Unrecognized key: "txt"'],
    ['steps:\n- text: a\n- text: 1\n', 3, 'steps.1.text: Invalid input: expected string, received number'],
    ['rules:\n- when: a\n  steps:\n  - text: b\n  - tools: []\n', 5, 'rules.0.steps.1.tools: Too small: expected array to have >=1 items'],
    ['rules:\n- when: /(/\n  steps: []\n', 2, 'rules.0.when: Invalid regular expression: /(/: Unterminated group'],
    ['- text: a\n---\n- text: b\n', 2, 'not valid YAML: a script must be a single document'],
    ['- text: "a\n', 2, 'not valid YAML: Missing closing "quote'],
    ['- *unknown\n', 1, 'an alias is unknown, or there are too many'],
  ])('%j', async (text, line, message) => {
    const error = await parseScript(text, 's.yaml').catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({ code: 'AGENT_INVALID', message: expect.stringContaining(`s.yaml:${line}: ${message}`) })
  })
})

test('a long script is parsed in many turns of the event loop', async () => {
  const text = Array.from(
    { length: STEPS },
    (_, index) => `- { delay_ms: 30, tools: [{ name: glob, input: { pattern: "${index}" } }] }\n`,
  ).join('')
  const { result, turns } = await countTurnsDuring(async () =>
    parseScript(text, 's.yaml', new EventLoopTurns(makeAdvancingClock()).newQueue()),
  )
  expect(result.steps).toHaveLength(STEPS)
  expect(result.steps[STEPS - 1]).toEqual({ delay_ms: 30, tools: [{ name: 'glob', input: { pattern: String(STEPS - 1) } }] })
  expect(turns).toBeGreaterThan(50)
})
