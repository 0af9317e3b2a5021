// The names of processes in lists and in command lines.
import { expect, test } from 'vitest'
import { commandName, titleOf } from '../../../src/faces/process-names.ts'

test.each([
  [{ name: 'docs', about: 'write docs', pid: 7 }, 'docs', 'docs'],
  [{ name: 'two words', about: 'write docs', pid: 7 }, 'two words', '7'],
  [{ name: null, about: 'write docs', pid: 7 }, 'write docs', '7'],
  [{ name: null, about: '', pid: 7 }, 'process 7', '7'],
])('%j is %s in a list, and %s in a command', (process, title, command) => {
  expect([titleOf(process), commandName(process)]).toEqual([title, command])
})
