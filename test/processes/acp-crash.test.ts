// A daemon that is killed with SIGKILL in the turn of an agent that speaks ACP: nothing of the agent is left, and the turn
// goes on with the agent's own session when it is resumed. Its open call is answered, not run again.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { workingKinds } from '../support/contained.ts'
import { DaemonHome } from '../support/daemon.ts'
import { eventually, killLeft, livingWith, newToken } from '../support/living.ts'

const PROGRAM = fileURLToPath(new URL('../support/programs/acp-agent.ts', import.meta.url))
const kinds = await workingKinds()

describe.each(kinds)('%s', (containment) => {
  test('a turn that was cut off by the end of its daemon', async () => {
    await using home = await DaemonHome.make()
    const token = newToken()
    await using _ = { [Symbol.asyncDispose]: async () => killLeft(token) }
    await home.start()
    const log = join(home.work, 'agent.log')
    const noted = (): readonly string[] => readFileSync(log, 'utf8').split('\n').filter(Boolean)
    mkdirSync(home.where.agentsDir, { recursive: true })
    const command = JSON.stringify([process.execPath, PROGRAM, token, `log=${log}`, `sessions=${home.work}`, 'resume', 'no-eof'])
    writeFileSync(join(home.where.agentsDir, 'fake.md'), `---\nname: fake\ndescription: A scripted agent.\ndriver: acp\ncommand: ${command}\n---\n`)
    const { uuid } = await home.spawn({ agent: 'fake', intent: `start-child ${token}\nopen long\nhang`, containment })
    const before = await home.until(uuid, ({ usage }) => usage.toolCalls === 1)
    await home.kill()
    await eventually(() => livingWith(token).length === 0, 'nobody is left')
    await home.nothingLeft()

    await home.start()
    expect(await home.view(uuid)).toMatchObject({ status: 'interrupted', sessionId: before.sessionId })
    await home.resume(uuid)
    expect(await home.ended(uuid)).toMatchObject({ status: 'completed', turn: 1, sessionId: before.sessionId })
    expect(noted().filter((line) => line.startsWith('resume '))).toHaveLength(1)
    expect(noted().at(-2)).toMatch(/^prompt "Your last turn was cut off\./)
    const results = (await home.events()).filter((event) => event['fact'] === 'tool.finished')
    expect(results).toMatchObject([{ outcome: 'interrupted' }])
    await eventually(() => livingWith(token).length === 0, 'nobody is left')
  })
})
