// A crew that is followed while its daemon is killed: it comes back by itself, and so whoever follows it sees it to its end.
import { afterEach, beforeEach, expect, test } from 'vitest'
import { runCli, startCli } from '../support/cli.ts'
import { CrewHome, taskOf } from '../support/crew-home.ts'

const SLOW = 120_000

let crew: CrewHome
beforeEach(async () => { crew = await CrewHome.make() })
afterEach(() => crew[Symbol.asyncDispose]())

test('one who follows outlives the daemon, and one who reads from the beginning reads to the end', { timeout: SLOW }, async () => {
  crew.hold('task', 'one')
  crew.hold('review', 'one')
  await crew.up({ workers: { generic: { count: 2, model: CrewHome.model('worker') } }, tasks: [taskOf('one')] })
  const following = startCli(crew.home.path, ['crew', 'follow', '-a', 'team'])
  await crew.held('task', 'one')
  await crew.again()
  await crew.held('review', 'one')
  await crew.again()
  expect(await crew.ended()).toMatchObject({ status: 'completed' })
  for (const { code, stdout, stderr } of [await following.done, await runCli(crew.home.path, ['crew', 'follow', '-a', 'team'])]) {
    expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringMatching(/one +added by user\n[^]* one +done\n[^]*team \(PID \d+\) completed \| 1\/1 task done/) })
    expect(stdout).toMatch(/^one +done /m)
  }
})
