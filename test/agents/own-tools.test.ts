// Real coding agents with reeve's own tools. Each agent gets them in its own way, and calls two of them without a question.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { openBench, type Bench } from './bench.ts'
import { GATED, KINDS } from './kinds.ts'
import { RESULT, TASKS } from './model.ts'

/** By ACP with the settings there; by their command lines with all tools. */
const WITH_TOOLS = [
  ...KINDS,
  ...GATED.filter(({ isCommand, name, hands }) => isCommand && hands.own && !KINDS.some((kind) => kind.name === name)),
]

describe.each(WITH_TOOLS)('$name', (kind) => {
  let bench: Bench
  afterEach(async () => {
    await bench?.[Symbol.asyncDispose]()
  })

  test('starts a process and waits for it', async () => {
    bench = await openBench(kind)
    const { uuid } = await bench.start(`${TASKS.own} now`, { reeve: true, ...(kind.isCommand ? {} : { permissions: 'ask' }) })
    expect(await bench.ended(uuid)).toMatchObject({ status: 'completed', lastText: RESULT })
    const events = (await bench.daemon.events()).filter((event) => event.uuid === uuid)
    expect(events.filter(({ fact }) => fact === 'process.waiting')).toEqual([])
    const child = await bench.daemon.view('child')
    expect(child).toMatchObject({ parentUuid: uuid, status: 'completed' })
    expect(readFileSync(join(bench.work, 'child.txt'), 'utf8')).toBe('made\n')
    await bench.nothingLeft()
  })
})
