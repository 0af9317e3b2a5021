// A daemon that is killed with SIGKILL during the turn of an ACP agent. Nothing of the agent is left. After a resume the turn
// continues in the agent's own session, and the open call is answered, not repeated.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { findWorkingKinds } from '../../support/agents/containment-harness.ts'
import { DaemonHome } from '../../support/daemon/daemon-home.ts'
import { killRemaining, findProcessesWith, newToken } from '../../support/living-processes.ts'
import { waitUntil } from '../../support/wait-until.ts'

const PROGRAM = fileURLToPath(new URL('../../support/programs/acp-agent.ts', import.meta.url))
const kinds = await findWorkingKinds()

describe.each(kinds)('%s', (containment) => {
  test('a turn that a kill of the daemon interrupted continues in the session of the agent', async () => {
    await using home = await DaemonHome.create()
    const token = newToken()
    await using _ = { [Symbol.asyncDispose]: async () => killRemaining(token) }
    await home.start()
    const log = join(home.work, 'agent.log')
    const readLogLines = (): readonly string[] => readFileSync(log, 'utf8').split('\n').filter(Boolean)
    mkdirSync(home.paths.agentsDir, { recursive: true })
    const command = JSON.stringify([process.execPath, PROGRAM, token, `log=${log}`, `sessions=${home.work}`, 'resume', 'no-eof'])
    writeFileSync(
      join(home.paths.agentsDir, 'fake.md'),
      `---\nname: fake\ndescription: A scripted agent.\ndriver: acp\ncommand: ${command}\n---\n`,
    )
    const { uuid } = await home.spawn({ agent: 'fake', intent: `start-child ${token}\nopen long\nhang`, containment })
    const viewBefore = await home.waitForView(uuid, ({ usage }) => usage.toolCalls === 1)
    await home.kill()
    await waitUntil(() => findProcessesWith(token).length === 0, 'no process is left')
    await home.waitUntilNothingIsLeft()

    await home.start()
    expect(await home.view(uuid)).toMatchObject({ status: 'interrupted', sessionId: viewBefore.sessionId })
    await home.resume(uuid)
    expect(await home.waitForEnd(uuid)).toMatchObject({ status: 'completed', turn: 1, sessionId: viewBefore.sessionId })
    expect(readLogLines().filter((line) => line.startsWith('resume '))).toHaveLength(1)
    expect(readLogLines().at(-2)).toMatch(/^prompt "Your last turn was cut off\./)
    const results = (await home.readEvents()).filter((event) => event['fact'] === 'tool.finished')
    expect(results).toMatchObject([{ outcome: 'interrupted' }])
    await waitUntil(() => findProcessesWith(token).length === 0, 'no process is left')
  })
})
