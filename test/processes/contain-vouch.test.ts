// A group's leader has ended and its members live on: the guardian must know the group at every moment, as the daemon may
// be killed in each of them. So it is told of the members before it forgets the leader.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { afterEach, expect, test } from 'vitest'
import { GroupCage } from '../../src/drivers/contain/group.ts'
import { handleOf } from '../../src/drivers/contain/handle.ts'
import { killLeft, newToken, sleepersWith, eventually } from '../support/living.ts'

const token = newToken()
afterEach(() => killLeft(token))

test('members are told before their leader is forgotten', async () => {
  const said: string[] = []
  const cage = new GroupCage('no-such-marker', { tell: ({ pid }) => said.push(`+ ${pid}`), forget: ({ pid }) => said.push(`- ${pid}`) })
  const leader = spawn('sh', ['-c', `env -i sleep 1000.${token} & read line`], { detached: true, stdio: ['pipe', 'ignore', 'ignore'] })
  await eventually(() => sleepersWith(token).length === 1, 'the member sleeps')
  const handle = handleOf(leader.pid ?? 0)
  if (!handle) throw new Error('the leader has no handle')
  cage.admit(handle)
  leader.stdin.end('\n')
  await once(leader, 'exit')
  cage.ended(handle)
  expect(said).toEqual([`+ ${handle.pid}`, `+ ${sleepersWith(token)[0]?.pid}`, `- ${handle.pid}`])
})
