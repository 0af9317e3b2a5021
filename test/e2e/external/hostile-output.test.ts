// Hostile output through a real daemon: a long line, bytes that are not text, control codes,
// a pipe that a grandchild holds, a flood. Nothing is lost below the limit, its order is kept, and the daemon stays
// small. All programs write as fast as they can: slower output is easier.
import { createHash } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import * as lines from '../../support/agents/agent-lines.ts'
import { writeScriptedProgram } from '../../support/programs/scripted-program.ts'
import { runCli } from '../../support/daemon/cli.ts'
import { DaemonHome } from '../../support/daemon/daemon-home.ts'
import type { EventView } from '../../../src/api/views/daemon.ts'
import { deep } from '../../support/deep.ts'
import type { ScriptedAct } from '../../support/programs/json-agent.ts'

const MIB = 1024 * 1024
const MAX_RSS_MIB = 300
/** a program's output without a newline */
const FLOOD_MIB = deep(20, 100)
const FLOOD_LINES = deep(20_000, 200_000)

/** The peak memory of a program, in MiB. */
function readPeakMib(pid: number): number {
  return Number(/^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))?.[1]) / 1024
}

async function runToEnd(home: DaemonHome, argv: readonly string[], body: object = {}): Promise<string> {
  const view = await home.spawn({ argv: [...argv], ...body })
  await home.waitForEnd(view.uuid)
  return view.uuid
}

function eventsOf(home: DaemonHome, uuid: string): AsyncIterable<EventView> {
  return home.client.events(`/v1/processes/${uuid}/events`, { query: { after: 0 } })
}

/** Passes on all output of a process to one stream, piece by piece. */
async function readEachOutput(home: DaemonHome, uuid: string, take: (text: string) => void, stream = 'stdout'): Promise<void> {
  for await (const event of eventsOf(home, uuid)) {
    if (event['fact'] === 'process.output' && event['stream'] === stream) take(String(event['text']))
  }
}

async function outputOf(home: DaemonHome, uuid: string, stream = 'stdout'): Promise<string> {
  let text = ''
  await readEachOutput(home, uuid, (chunk) => (text += chunk), stream)
  return text
}

async function readFacts(home: DaemonHome, uuid: string): Promise<EventView[]> {
  const events: EventView[] = []
  for await (const event of eventsOf(home, uuid)) events.push(event)
  return events
}

async function withDaemon(use: (home: DaemonHome) => Promise<void>): Promise<void> {
  await using home = await DaemonHome.create()
  await home.start()
  await use(home)
  await home.stop()
  await home.waitUntilNothingIsLeft()
}

describe('a line without an end', () => {
  test(
    `of ${FLOOD_MIB} MiB is kept whole, and the daemon stays below ${MAX_RSS_MIB} MiB`,
    () =>
      withDaemon(async (home) => {
        const uuid = await runToEnd(home, ['sh', '-c', `yes 0123456789abcde | tr -d '\\n' | head -c ${FLOOD_MIB * MIB}`])
        expect(readPeakMib(home.pid)).toBeLessThan(MAX_RSS_MIB)
        const [receivedHash, wanted] = [createHash('sha256'), createHash('sha256')]
        let chars = 0
        await readEachOutput(home, uuid, (text) => {
          chars += text.length
          receivedHash.update(text)
        })
        const block = Buffer.from('0123456789abcde'.repeat((MIB / 16) * 15)) // a multiple of both, so that the blocks line up
        for (let leftBytes = FLOOD_MIB * MIB; leftBytes > 0; leftBytes -= block.length)
          wanted.update(block.subarray(0, Math.min(leftBytes, block.length)))
        expect(chars).toBe(FLOOD_MIB * MIB)
        expect(receivedHash.digest('hex')).toBe(wanted.digest('hex'))
        expect(readPeakMib(home.pid)).toBeLessThan(MAX_RSS_MIB)
      }),
    300_000,
  )

  test(
    'of an agent, that begins like JSON, is output too, and the next lines are understood',
    () =>
      withDaemon(async (home) => {
        const items: ScriptedAct[] = [
          { raw: '{"type":"assistant","message":"' },
          { repeat: 'x'.repeat(MIB), count: FLOOD_MIB },
          { raw: '"\n' },
          ...lines.CLAUDE_TOOLS.map((line) => ({ line })),
        ]
        const program = await writeScriptedProgram(home.work, 'claude', items)
        const uuid = await runToEnd(home, [program, '-p', 'x', '--output-format', 'stream-json'])
        expect(readPeakMib(home.pid)).toBeLessThan(MAX_RSS_MIB)
        let chars = 0
        await readEachOutput(home, uuid, (text) => (chars += text.length))
        expect(chars).toBe('{"type":"assistant","message":"'.length + FLOOD_MIB * MIB + 2)
        expect(await home.view(uuid)).toMatchObject({ status: 'completed', step: 2 })
      }),
    300_000,
  )
})

describe('a flood of lines', () => {
  test(
    'is kept whole and in order, and other requests are answered meanwhile',
    () =>
      withDaemon(async (home) => {
        const view = await home.spawn({ argv: ['seq', '-f', '%.0f the quick brown fox jumps over the lazy dog', '1', String(FLOOD_LINES)] })
        const other = await runToEnd(home, ['echo', 'meanwhile'])
        expect(await outputOf(home, other)).toBe('meanwhile\n')
        await home.waitForEnd(view.uuid)
        let text = ''
        let next = 1
        let wrongLine: string | null = null
        await readEachOutput(home, view.uuid, (chunk) => {
          const outputLines = (text + chunk).split('\n')
          text = outputLines.pop() ?? ''
          for (const line of outputLines) if (line !== `${next++} the quick brown fox jumps over the lazy dog`) wrongLine ??= line
        })
        expect([next - 1, text, wrongLine]).toEqual([FLOOD_LINES, '', null])
        expect(readPeakMib(home.pid)).toBeLessThan(MAX_RSS_MIB)
      }),
    300_000,
  )

  test(
    'of an agent becomes steps, in order, with only a few of them in memory',
    () =>
      withDaemon(async (home) => {
        const line = (id: number): object => ({
          type: 'assistant',
          session_id: 's',
          parent_tool_use_id: null,
          message: {
            id: `m${id}`,
            model: 'm',
            content: [{ type: 'text', text: `${id} ${'x'.repeat(20_000)}` }],
            usage: { input_tokens: 1, output_tokens: 1 },
          },
        })
        const items: ScriptedAct[] = [
          ...Array.from({ length: 500 }, (_, index) => ({ line: line(index + 1) })),
          { line: { type: 'result', subtype: 'success', is_error: false, result: 'done', session_id: 's' } },
        ]
        const program = await writeScriptedProgram(home.work, 'claude', items)
        const uuid = await runToEnd(home, [program, '-p', 'x', '--output-format', 'stream-json'])
        const finished = (await readFacts(home, uuid)).filter((event) => event['fact'] === 'model.finished')
        expect(finished.map((event) => event['step'])).toEqual(Array.from({ length: 500 }, (_, index) => index + 1))
        expect(finished.every((event) => JSON.stringify(event['message']).includes(`"${event['step']} xxx`))).toBe(true)
        expect(await home.view(uuid)).toMatchObject({ status: 'completed', step: 500, usage: { inputTokens: 500 } })
        expect(readPeakMib(home.pid)).toBeLessThan(MAX_RSS_MIB)
      }),
    300_000,
  )
})

describe('with one daemon', () => {
  let home: DaemonHome
  beforeAll(async () => {
    home = await DaemonHome.create()
    await home.start()
  })
  afterAll(async () => {
    await home.stop()
    await home.waitUntilNothingIsLeft()
    await home[Symbol.asyncDispose]()
  })

  describe('hostile bytes and texts', () => {
    const HOSTILE_BYTES = Buffer.from('a\0b\u2028c\x1b[31mred\x1b]0;title\x07\x9b\r\n\xff\xfe\xc3(\xed\xa0\x80 end\n', 'latin1')
    const STORED_TEXT = HOSTILE_BYTES.toString('utf8')

    test('are stored unchanged, and reach no terminal raw', async () => {
      const file = join(home.work, 'nasty')
      writeFileSync(file, HOSTILE_BYTES)
      const uuid = await runToEnd(home, ['sh', '-c', `cat ${file}; cat ${file} >&2`])
      expect(await outputOf(home, uuid)).toBe(STORED_TEXT)
      expect(await outputOf(home, uuid, 'stderr')).toBe(STORED_TEXT)
      const { stdout } = await runCli(home.path, ['logs', uuid])
      expect(stdout).toContain('red')
      // C0 except for line ends and tabs, DEL and C1
      expect(stdout).not.toMatch(/[\0-\x08\x0b-\x1f\x7f-\x9f]/)
    }, 300_000)

    test('are also filtered in the text of an agent', async () => {
      const text = '\0\x1b[31mred\u2028\x9b\ud800'
      const line = { type: 'item.completed', item: { id: 'i', type: 'agent_message', text } }
      const program = await writeScriptedProgram(home.work, 'codex', [
        { line: { type: 'thread.started', thread_id: 't' } },
        { line },
        { line: { type: 'turn.completed', usage: {} } },
      ])
      const uuid = await runToEnd(home, [program, 'exec', '--json', 'x'])
      const finished = (await readFacts(home, uuid)).find((event) => event['fact'] === 'model.finished')
      expect(finished?.['message']).toEqual([{ type: 'text', text: text.toWellFormed() }])
      for (const verb of ['logs', 'steps', 'inspect']) {
        const { stdout } = await runCli(home.path, [verb, uuid])
        expect(stdout).toContain('red')
        expect(stdout).not.toMatch(/[\0-\x08\x0b-\x1f\x7f-\x9f]/)
      }
    }, 300_000)
  })

  describe('the end', () => {
    test('comes after all output was read: the last line is stored', async () => {
      const uuid = await runToEnd(home, ['sh', '-c', `head -c ${8 * MIB} /dev/zero | tr '\\0' x; printf last; printf oops >&2; exit 3`])
      const text = await outputOf(home, uuid)
      expect([text.length, text.slice(-5), await outputOf(home, uuid, 'stderr')]).toEqual([8 * MIB + 4, 'xlast', 'oops'])
      expect(await home.view(uuid)).toMatchObject({ exit: { code: 3 } })
      const order = (await readFacts(home, uuid)).map((event) => event['fact'])
      expect(order.lastIndexOf('process.output')).toBeLessThan(order.indexOf('process.exited'))
    }, 300_000)

    test('is not delayed by a grandchild that holds the pipe, and the grandchild is ended', async () => {
      const uuid = await runToEnd(home, ['sh', '-c', 'setsid sleep 3600 & echo done'])
      expect(await outputOf(home, uuid)).toBe('done\n')
      expect(await home.view(uuid)).toMatchObject({ status: 'completed' })
      expect(home.findLeftovers()).toEqual([])
    }, 300_000)

    test('of a program that closes its output and continues comes with its exit', async () => {
      const uuid = await runToEnd(home, ['sh', '-c', 'echo first; exec >&- 2>&-; sleep 0.3; exit 5'])
      expect(await outputOf(home, uuid)).toBe('first\n')
      expect(await home.view(uuid)).toMatchObject({ exit: { code: 5 } })
    }, 300_000)
  })
})
