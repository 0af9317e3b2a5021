// The fork dialog of `reeve top`: its fields, and the command line that they make.
import { expect, test } from 'vitest'
import { forkForm } from '../../../../src/cli/top/fork-form.ts'
import type { FormDialog } from '../../../../src/cli/top/form-dialog.ts'
import type { RowView } from '../../../../src/index.ts'
import { BIRTH, rowOf } from '../../../support/faces/rows.ts'

const ROW = rowOf({ name: 'fix', step: 7, status: 'completed', endedAt: BIRTH, branch: 'reeve/fix', model: 'a/b' })
const NAMES: Readonly<Record<string, string>> = { Tab: 'tab', Up: 'up', Right: 'right', Left: 'left', Enter: 'return', Del: 'backspace' }

/** Types keys, given with spaces between them. Returns the command line of the action that the last one gave. */
function type(form: FormDialog, keys: string): string | null {
  let command: string | null = null
  for (const key of keys.split(' ')) {
    const name = NAMES[key]
    const result = form.onKey(name === undefined ? { sequence: key } : { name })
    command = typeof result === 'object' && 'command' in result ? result.command : null
  }
  return command
}

test('it begins with the message, the last step and the files of that step', () => {
  expect(forkForm(ROW, null).lines).toEqual([
    '  after step (0 to 7)  7',
    '  files                those of that step, in a new worktree',
    '> message              none',
    '  model                a/b',
    '  effort               as it is',
    '  name                 none',
    '  budget in USD        as it is',
    'The fork keeps steps 1 to 7. It does not keep its children or its waiting messages. Its cost is counted from 0.',
  ])
})

test.each<[string, string, Partial<RowView>, number | null, string]>([
  ['the last step and its files', 'Enter', {}, null, 'reeve resume fix --fork --from-step 7 --with-files'],
  ['the step that the panel shows', 'Enter', {}, 3, 'reeve resume fix --fork --from-step 3 --with-files'],
  [
    'the last whole step of a running process',
    'Enter',
    { status: 'working', endedAt: null },
    7,
    'reeve resume fix --fork --from-step 6 --with-files',
  ],
  ['another step', 'Up Up Del 4 Enter', {}, null, 'reeve resume fix --fork --from-step 4 --with-files'],
  ['the directory as it is', 'Up Right Enter', {}, null, 'reeve resume fix --fork --from-step 7'],
  ['no worktree', 'h i Enter', { branch: null }, null, 'reeve resume fix --fork --from-step 7 --message hi'],
  ['an agent that forks as it is now', 'h i Enter', { forks: 'now' }, null, 'reeve resume fix --fork --message hi'],
  [
    'other fields',
    'Tab m Tab Left Tab n Tab 2 Enter',
    {},
    5,
    'reeve resume fix --fork --from-step 5 --model m --effort max --name n --budget-usd 2 --with-files',
  ],
])('%s', (_, keys, fields, at, expected) => {
  const form = forkForm({ ...ROW, ...fields }, at)
  const command = type(form, keys)
  expect([command, form.command]).toEqual([expected, expected])
})

test('what is wrong is stated, and Enter keeps the dialog', () => {
  const form = forkForm(ROW, null)
  expect(type(form, 'Up Up 9 Enter')).toBeNull()
  expect([form.lines.at(-1), form.command]).toEqual(['The step is a number from 0 to 7.', null])
  type(form, 'Del Up x')
  expect(form.lines.at(-1)).toBe('The budget is an amount such as 5 or 0.50.')
  expect(form.onKey({ name: 'escape' })).toBe('close')
})

test('a pasted text with tabs and line ends goes into one field', () => {
  const form = forkForm(ROW, null)
  form.onKey({ name: 'paste-start' })
  for (const key of [{ sequence: 'a' }, { name: 'tab', sequence: '\t' }, { name: 'return', sequence: '\r' }, { sequence: 'b' }])
    form.onKey(key)
  form.onKey({ name: 'paste-end' })
  expect([form.selectedLine, form.editor?.text.replace(/[\r\n]/, '|')]).toEqual([2, 'a\t|b'])
})
