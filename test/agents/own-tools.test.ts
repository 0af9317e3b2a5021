// Real coding agents with reeve's own tools. Each agent gets these tools in its own way, and calls two of them without an ask.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { openAgentHarness, type AgentHarness } from './harness.ts'
import { GATEWAY_KINDS, KINDS } from './kinds.ts'
import { RESULT, TASKS } from './model.ts'

/** All kinds, and the agents at the gateway that take reeve's tools by their command line. */
const WITH_TOOLS = [
  ...KINDS,
  ...GATEWAY_KINDS.filter(({ isCommand, name, tools }) => isCommand && tools.reeveTool && !KINDS.some((kind) => kind.name === name)),
]

describe.each(WITH_TOOLS)('$name', (kind) => {
  let harness: AgentHarness
  afterEach(async () => {
    await harness?.[Symbol.asyncDispose]()
  })

  test("an agent starts a process and waits for it with reeve's tools, and never asks the user", async () => {
    harness = await openAgentHarness(kind)
    const { uuid } = await harness.start(`${TASKS.own} now`, { reeve: true, ...(kind.isCommand ? {} : { permissions: 'ask' }) })
    expect(await harness.waitForEnd(uuid)).toMatchObject({ status: 'completed', lastText: RESULT })
    const events = (await harness.daemon.readEvents()).filter((event) => event.uuid === uuid)
    expect(events.filter(({ fact }) => fact === 'process.waiting')).toEqual([])
    const child = await harness.daemon.view('child')
    expect(child).toMatchObject({ parentUuid: uuid, status: 'completed' })
    expect(readFileSync(join(harness.work, 'child.txt'), 'utf8')).toBe('made\n')
    await harness.waitUntilNothingIsLeft()
  })
})
