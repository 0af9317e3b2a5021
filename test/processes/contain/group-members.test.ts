// A process group whose leader has exited while other members still run. The daemon may be killed at any moment, so the guardian must
// always know the group: the members are registered before the leader is unregistered.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { afterEach, expect, test } from 'vitest'
import { GroupBackend } from '../../../src/drivers/contain/backends/group.ts'
import { handleOf } from '../../../src/drivers/contain/proc/handle.ts'
import { killRemaining, newToken, findSleepersWith } from '../../support/living-processes.ts'
import { waitUntil } from '../../support/wait-until.ts'

const token = newToken()
afterEach(() => killRemaining(token))

test('the members of a group are registered before their leader is unregistered', async () => {
  const calls: string[] = []
  const backend = new GroupBackend('no-such-marker', {
    register: ({ pid }) => calls.push(`+ ${pid}`),
    unregister: ({ pid }) => calls.push(`- ${pid}`),
  })
  const leader = spawn('sh', ['-c', `env -i sleep 1000.${token} & read line`], { detached: true, stdio: ['pipe', 'ignore', 'ignore'] })
  await waitUntil(() => findSleepersWith(token).length === 1, 'the member sleeps')
  const handle = handleOf(leader.pid ?? 0)
  if (!handle) throw new Error('the leader has no handle')
  backend.admit(handle)
  leader.stdin.end('\n')
  await once(leader, 'exit')
  backend.programEnded(handle)
  expect(calls).toEqual([`+ ${handle.pid}`, `+ ${findSleepersWith(token)[0]?.pid}`, `- ${handle.pid}`])
})
