// `reeve crew follow` while the daemon is killed: the crew continues after the restart, and the follower reads its events to the end.
import { afterEach, beforeEach, expect, test } from 'vitest'
import { runCli, startCli } from '../../support/daemon/cli.ts'
import { CrewHome, makeTask } from '../../support/crew/crew-home.ts'

const TIMEOUT_MS = 300_000

let crew: CrewHome
beforeEach(async () => {
  crew = await CrewHome.make()
})
afterEach(() => crew[Symbol.asyncDispose]())

test(
  'a follower continues after a kill of the daemon, and a second follower reads all events from the beginning',
  { timeout: TIMEOUT_MS },
  async () => {
    crew.hold('task', 'one')
    crew.hold('review', 'one')
    await crew.up({ workers: { generic: { count: 2, model: CrewHome.model('worker') } }, tasks: [makeTask('one')] })
    const following = startCli(crew.home.path, ['crew', 'follow', '-a', 'team'])
    await crew.waitForHold('task', 'one')
    await crew.restartDaemon()
    await crew.waitForHold('review', 'one')
    await crew.restartDaemon()
    expect(await crew.waitForEnd()).toMatchObject({ status: 'completed' })
    for (const { code, stdout, stderr } of [await following.result, await runCli(crew.home.path, ['crew', 'follow', '-a', 'team'])]) {
      expect({ code, stderr }).toEqual({
        code: 0,
        stderr: expect.stringMatching(/one +added by user\n[^]* one +done\n[^]*team \(PID \d+\) completed \| 1\/1 task done/),
      })
      expect(stdout).toMatch(/^one +done /m)
    }
  },
)
