// Suggestions for misspelt verbs, flags, keys and tools.
import { expect, test } from 'vitest'
import { closestWord } from '../../../../src/kernel/util/did-you-mean.ts'

const VERBS = ['run', 'stop', 'steps', 'inspect', 'kill', 'events']
const KEYS = ['model', 'limits', 'defaultModel']
const FLAGS = ['--detach', '-d', '--name', '-n', '--max-steps']

test.each([
  ['rnu', VERBS, 'run'],
  ['stpo', VERBS, 'stop'],
  ['insp', VERBS, 'inspect'],
  ['kil', VERBS, 'kill'],
  ['even', VERBS, 'events'],
  ['ps', VERBS, undefined],
  ['zzz', VERBS, undefined],
  ['', VERBS, undefined],
  ['s', VERBS, undefined],
  ['st', VERBS, undefined],
  ['modle', KEYS, 'model'],
  ['Model', KEYS, 'model'],
  ['limit', KEYS, 'limits'],
  ['defaultmodel', KEYS, 'defaultModel'],
  ['xyz', KEYS, undefined],
  ['x'.repeat(100), KEYS, undefined],
  ['--detahc', FLAGS, '--detach'],
  ['--max', FLAGS, '--max-steps'],
  ['--nmae', FLAGS, '--name'],
  ['-x', FLAGS, undefined],
] as const)('the suggestion for %j among %j is %j', (typed, candidates, expected) => {
  expect(closestWord(typed, candidates)).toBe(expected)
})
