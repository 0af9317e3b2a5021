// The names of processes in lists and in command lines.
import { expect, test } from 'vitest'
import { commandName, nameOf, titleOf } from '../../../src/faces/process-names.ts'

test.each([
  [{ name: 'docs', about: 'write docs', pid: 7 }, 'docs', 'docs'],
  [{ name: 'two words', about: 'write docs', pid: 7 }, 'two words', '7'],
  [{ name: null, about: 'write docs', pid: 7 }, 'write docs', '7'],
  [{ name: null, about: '', pid: 7 }, 'process 7', '7'],
  [{ name: 'good\u202e', about: '', pid: 7 }, 'good\\u202e', '7'],
  [{ name: null, about: 'a\u200bb', pid: 7 }, 'a\\u200bb', '7'],
])('%j is %s in a list, and %s in a command', (process, title, command) => {
  expect([titleOf(process), commandName(process)]).toEqual([title, command])
})

test('where only a name is shown, a process without one has its PID, with what it is', () => {
  expect([nameOf({ name: 'a\u200bb', pid: 7 }), nameOf({ name: null, pid: 7 }), nameOf({ name: null, pid: 7 }, 'run')]).toEqual([
    'a\\u200bb',
    'process 7',
    'run 7',
  ])
})
