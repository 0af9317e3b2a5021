// The files of a worktree are not committed while a process may change them. The error names that process.
import { expect, test } from 'vitest'
import { Merges } from '../../../../src/daemon/operations/merges.ts'
import type { Process } from '../../../../src/kernel/model/process.ts'

const AUTHOR = { name: 'A', email: 'a@localhost' }

function processOf(pid: number, state: 'running' | 'dead'): Process {
  const worktree = { dir: '/w', repository: '/r/.git', branch: 'reeve/a', base: 'b' }
  return { uuid: `u${pid}`, pid, life: { state }, spec: { driver: 'command', worktree, env: {} } } as unknown as Process
}

test.each([
  ['a living process', processOf(5, 'running'), undefined, 'process 5 has not ended, and may still change its files', 5],
  [
    'another process in the worktree of an ended one',
    processOf(5, 'dead'),
    processOf(7, 'running'),
    'process 7 has not ended, and may still change the files of process 5',
    7,
  ],
] as const)('%s prevents a commit', async (_, process, other, message, waitPid) => {
  const unused = (): never => {
    throw new Error('git must not run')
  }
  const merges = new Merges({ otherUserOf: () => other, useExclusively: unused, findRecord: unused, recordsOf: unused })
  await expect(merges.commit(process, AUTHOR, false)).rejects.toMatchObject({
    code: 'CONFLICT',
    message,
    hint: `\`reeve wait ${waitPid}\` waits for its end. \`reeve merge --unfinished 5\` merges the files as they are now.`,
  })
})
