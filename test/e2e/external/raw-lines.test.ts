// The raw output of external agents is kept on the user's request: all lines, or the last ones of each turn.
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import type { EventView } from '../../../src/api/views/daemon.ts'
import type { ProcessView } from '../../../src/api/views/process.ts'
import * as lines from '../../support/agents/agent-lines.ts'
import { writeScriptedProgram } from '../../support/programs/scripted-program.ts'
import { newToken } from '../../support/living-processes.ts'
import { LocalDaemon } from '../../support/daemon/local-daemon.ts'

const ACP_PROGRAM = fileURLToPath(new URL('../../support/programs/acp-agent.ts', import.meta.url))

async function writeAgentFile(daemon: LocalDaemon, name: string, front: readonly string[]): Promise<void> {
  await mkdir(daemon.paths.agentsDir, { recursive: true })
  await writeFile(join(daemon.paths.agentsDir, `${name}.md`), `---\n${front.join('\n')}\n---\n`)
}

/** An agent that ends its run with these lines. */
async function runClaude(daemon: LocalDaemon, items: readonly object[], keep: string): Promise<ProcessView> {
  const program = await writeScriptedProgram(
    daemon.work,
    'claude',
    items.map((line) => ({ line })),
  )
  await writeAgentFile(daemon, 'played', [
    'driver: command',
    `command: ["${program}", "-p", "--output-format", "stream-json", "--verbose"]`,
    ...(keep === '' ? [] : [`keep_raw: ${keep}`]),
  ])
  const { uuid } = await daemon.spawn({ agent: 'played', intent: 'go' })
  return daemon.waitForEnd(uuid)
}

async function rawLinesOf(daemon: LocalDaemon, { uuid }: ProcessView): Promise<EventView[]> {
  return (await daemon.readHistory(uuid)).filter(({ type }) => type === 'process.raw')
}

test('all lines of a command are kept, each before its interpretation; a long one is cut, with a mark', async () => {
  await using daemon = await LocalDaemon.start({ config: 'keep_raw: all\n' })
  const longItem = { type: 'assistant', message: { role: 'assistant', content: [{ type: 'text', text: 'x'.repeat(100_000) }] } }
  const items = [...lines.CLAUDE_TOOLS.slice(0, -1), longItem, ...lines.CLAUDE_TOOLS.slice(-1)]
  const view = await runClaude(daemon, items, '')
  expect(view.status).toBe('completed')
  const raw = await rawLinesOf(daemon, view)
  const written = items.map((line) => JSON.stringify(line))
  expect(raw.map(({ raw: line }) => line)).toEqual(written.map((line) => line.slice(0, 65_536)))
  expect(raw.flatMap(({ left }) => (left === undefined ? [] : [left]))).toEqual([JSON.stringify(longItem).length - 65_536])
  const types = (await daemon.readHistory(view.uuid)).map(({ fact }) => fact)
  expect(types.indexOf('process.raw')).toBeLessThan(types.indexOf('model.finished'))
  expect(daemon.errors).toEqual([])
})

test('the last hundred lines of a command are kept at its end, but none without a request or if its agent file disables it', async () => {
  await using daemon = await LocalDaemon.start()
  const statusItems = Array.from({ length: 150 }, (_, index) => ({ type: 'system', subtype: 'status', at: index }))
  const items = [...lines.CLAUDE_TOOLS.slice(0, -1), ...statusItems, ...lines.CLAUDE_TOOLS.slice(-1)]
  const raw = await rawLinesOf(daemon, await runClaude(daemon, items, 'last'))
  expect(raw.map(({ raw: line }) => line)).toEqual(items.slice(-100).map((line) => JSON.stringify(line)))
  for (const keep of ['', 'off']) expect(await rawLinesOf(daemon, await runClaude(daemon, lines.CLAUDE_TOOLS, keep))).toEqual([])
})

test('the messages of an ACP agent are kept as lines, and a native agent has no lines', async () => {
  await using daemon = await LocalDaemon.start({ config: 'keep_raw: last\n' })
  await writeAgentFile(daemon, 'fake', [
    'driver: acp',
    'asks: true',
    `command: ${JSON.stringify([process.execPath, ACP_PROGRAM, newToken(), `log=${join(daemon.work, 'log')}`, `sessions=${daemon.work}`])}`,
  ])
  const { uuid } = await daemon.spawn({ agent: 'fake', intent: 'say hello' })
  const raw = await rawLinesOf(daemon, await daemon.waitForEnd(uuid))
  expect(raw.map(({ raw: line }) => JSON.parse(String(line)) as object)).toContainEqual(
    expect.objectContaining({ method: 'session/update' }),
  )
  const native = await daemon.spawnScripted([{ text: 'done' }])
  expect(await rawLinesOf(daemon, await daemon.waitForEnd(native.uuid))).toEqual([])
  await writeAgentFile(daemon, 'own', ['keep_raw: all'])
  await expect(daemon.spawn({ agent: 'own', intent: 'x' })).rejects.toThrow(/keep_raw: the driver native does not support it/)
})
