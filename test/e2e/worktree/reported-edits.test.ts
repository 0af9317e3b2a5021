// For an agent without a worktree no files are recorded. Its diff shows its successful edits as the agent reported them, step by step.
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { ProcessDiffView, ProcessFilesView } from '../../../src/api/views/diff.ts'
import { runCli } from '../../support/daemon/cli.ts'
import { LocalDaemon } from '../../support/daemon/local-daemon.ts'

let daemon: LocalDaemon

beforeEach(async () => {
  daemon = await LocalDaemon.start()
})

afterEach(async () => {
  await daemon[Symbol.asyncDispose]()
  expect(daemon.errors).toEqual([])
})

const call = (name: string, input: object): object => ({ text: '', tools: [{ name, input }] })

test('the edits of an agent without a worktree, in a range of steps and of one file', async () => {
  const { uuid } = await daemon.spawnScripted(
    [
      call('write', { path: 'a.txt', content: 'one\ntwo\n' }),
      call('edit', { path: 'a.txt', old_text: 'two', new_text: '2' }),
      call('edit', { path: 'a.txt', old_text: 'not there', new_text: 'x' }),
      call('write', { path: 'dir/b.txt', content: 'b\n' }),
      { text: 'end' },
    ],
    { name: 'plain' },
  )
  await daemon.waitForEnd(uuid)
  const files = (query: Record<string, string>): Promise<ProcessFilesView> =>
    daemon.client.get<ProcessFilesView>('/v1/processes/plain/files', query)
  const all = await files({})
  expect([all.of, all.from, all.to]).toEqual(['reported', null, null])
  expect(all.files).toEqual([
    { path: 'a.txt', from: null, change: 'changed', insertions: 3, deletions: 1, large: false, steps: [1, 2] },
    { path: 'dir/b.txt', from: null, change: 'changed', insertions: 1, deletions: 0, large: false, steps: [4] },
  ])
  expect((await files({ from: '1', to: '2' })).files.map(({ path, steps }) => [path, steps])).toEqual([['a.txt', [2]]])
  expect((await files({ path: 'dir' })).files.map(({ path }) => path)).toEqual(['dir/b.txt'])
  const { diff } = await daemon.client.get<ProcessDiffView>('/v1/processes/plain/diff', { from: '1', to: '2', format: 'view' })
  expect(diff).toBe('diff --git a/a.txt b/a.txt\n--- a/a.txt\n+++ b/a.txt\n@@ -1,1 +1,1 @@ step 2\n-two\n+2\n')
  const shown = await runCli(daemon.home, ['diff', '--steps', 'plain'])
  expect(shown.stderr).toBe('PID 1 (plain): 2 files, +4 -1, as its agent reported them; without a worktree no files are recorded\n')
  expect(shown.stdout).toBe('FILE       LINES  STEPS\na.txt      +3 -1  1-2\ndir/b.txt  +1 -0  4\n')
  const { code, stderr } = await runCli(daemon.home, ['diff', '--to', 'plain@2', 'plain'])
  expect([code, stderr]).toEqual([64, expect.stringContaining('has no worktree')])
})
