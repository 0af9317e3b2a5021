// Real coding agents with reeve's own tools. Each agent gets them in its own way, and calls two of them without a question.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { openAgentBench, type AgentBench } from './bench.ts'
import { GATEWAY_KINDS, KINDS } from './kinds.ts'
import { RESULT, TASKS } from './model.ts'

/** All agents by ACP, and the programs that take reeve's tools by their command line. */
const WITH_TOOLS = [
  ...KINDS,
  ...GATEWAY_KINDS.filter(({ isCommand, name, tools }) => isCommand && tools.reeveTool && !KINDS.some((kind) => kind.name === name)),
]

describe.each(WITH_TOOLS)('$name', (kind) => {
  let bench: AgentBench
  afterEach(async () => {
    await bench?.[Symbol.asyncDispose]()
  })

  test('starts a process and waits for it', async () => {
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
