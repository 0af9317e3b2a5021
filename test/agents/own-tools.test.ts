// Real coding agents with reeve's own tools. Each agent gets these tools in its own way, and calls two of them without an ask.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { openAgentBench, type AgentBench } from './bench.ts'
import { GATEWAY_KINDS, KINDS } from './kinds.ts'
import { RESULT, TASKS } from './model.ts'

/** All kinds, and the agents at the gateway that take reeve's tools by their command line. */
const WITH_TOOLS = [
  ...KINDS,
  ...GATEWAY_KINDS.filter(({ isCommand, name, tools }) => isCommand && tools.reeveTool && !KINDS.some((kind) => kind.name === name)),
]

describe.each(WITH_TOOLS)('$name', (kind) => {
  let bench: AgentBench
  afterEach(async () => {
    await bench?.[Symbol.asyncDispose]()
  })

  test("an agent starts a process and waits for it with reeve's tools, and never asks the user", async () => {
    bench = await openAgentBench(kind)
    const { uuid } = await bench.start(`${TASKS.own} now`, { reeve: true, ...(kind.isCommand ? {} : { permissions: 'ask' }) })
    expect(await bench.waitForEnd(uuid)).toMatchObject({ status: 'completed', lastText: RESULT })
    const events = (await bench.daemon.readEvents()).filter((event) => event.uuid === uuid)
    expect(events.filter(({ fact }) => fact === 'process.waiting')).toEqual([])
    const child = await bench.daemon.view('child')
    expect(child).toMatchObject({ parentUuid: uuid, status: 'completed' })
    expect(readFileSync(join(bench.work, 'child.txt'), 'utf8')).toBe('made\n')
    await bench.waitUntilNothingIsLeft()
  })
})
