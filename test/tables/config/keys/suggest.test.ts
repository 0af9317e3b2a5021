// The keys that the user may have meant by an unknown one.
import { expect, test } from 'vitest'
import { hintOfUserKey, USER_FORMAT } from '../../../../src/config/config.ts'
import { KEYS_BY_WORD } from '../../../../src/config/keys/suggest.ts'

test.each<[string, string | undefined]>([
  ['budgetUsd', 'did you mean `limits.budgetUsd`?'],
  ['budget_usd', 'did you mean `limits.budgetUsd`?'],
  ['budget', 'did you mean `limits.budgetUsd` or `budgets.dailyUsd`?'],
  ['budgetUds', 'did you mean `limits.budgetUsd`?'],
  ['maxSteps', 'did you mean `limits.maxSteps`?'],
  ['max-steps', 'did you mean `limits.maxSteps`?'],
  ['timeout', 'did you mean `limits.timeout`?'],
  ['maxTokens', 'did you mean `limits.budgetTokens` or `limits.maxOutputTokens`?'],
  ['model', 'did you mean `defaultModel`?'],
  ['modle', 'did you mean `defaultModel`?'],
  ['default-model', 'did you mean `defaultModel`?'],
  ['defaultModle', 'did you mean `defaultModel`?'],
  ['agent', 'did you mean `defaultAgent`?'],
  ['mcpServers', 'did you mean `mcp`?'],
  ['desktop', 'did you mean `notifications.desktop`?'],
  ['retention', 'did you mean `gc.retention_days`?'],
  ['webhok', 'did you mean `notifications.webhook`?'],
  ['permissions', 'permissions are set for an agent: `permissions:` in its file, or `reeve run --permissions`'],
  ['port', '`reeve web` chooses its port automatically'],
  ['api_key', 'keys are in the environment or in credentials.yaml: see `reeve help keys`'],
  ['constructor', undefined],
  ['zzz', undefined],
])('the hint for the key %s is: %s', (typed, expected) => {
  expect(hintOfUserKey(typed)).toBe(expected)
})

test('every proposed key exists', () => {
  for (const key of Object.values(KEYS_BY_WORD).flat()) {
    const [first = '', part] = key.split('.')
    expect(USER_FORMAT.knownKeys(part === undefined ? [] : [first]), key).toContain(part ?? first)
  }
})
