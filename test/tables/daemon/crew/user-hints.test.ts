// Hints for the user when a crew refuses a command: they name commands, where a coordinator's hints name tools.
import { expect, test } from 'vitest'
import { withUserHint, rewriteHint } from '../../../../src/daemon/crew/user-hints.ts'
import { KernelError } from '../../../../src/kernel/model/errors.ts'

test.each([
  ['Retire one first with retire_worker.', 'Retire one first with `reeve crew retire`.'],
  ['cancel_task with requeue puts it back into the queue.', '`reeve crew cancel --requeue` puts it back into the queue.'],
  ['retry_task (`reeve crew retry`) puts it back into the queue.', '`reeve crew retry` puts it back into the queue.'],
  [
    'replace_worker gives it a successor; complete_crew ends the crew.',
    '`reeve crew replace` gives it a successor; `reeve crew stop` ends the crew.',
  ],
  ['Choose one of worker-2, or start one with spawn_worker.', 'Choose one of worker-2, or start one with `reeve crew spawn`.'],
  ['Wait until that is done.', 'Wait until that is done.'],
])('the hint "%s" becomes "%s"', (hint, expected) => {
  expect(rewriteHint(hint)).toBe(expected)
})

test('the code, message and details of an error stay the same, and so does an error of another class', () => {
  expect(withUserHint(new KernelError('CONFLICT', 'retire_worker is a title', { a: 1 }, 'See add_task.'))).toMatchObject({
    code: 'CONFLICT',
    message: 'retire_worker is a title',
    details: { a: 1 },
    hint: 'See `reeve crew add`.',
  })
  const otherError = new Error('other')
  expect(withUserHint(otherError)).toBe(otherError)
})
