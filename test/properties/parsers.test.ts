// Each parser of external input gets hostile texts: nearly valid, truncated, doubled, nested, and full of names of prototype properties.
// The parser returns a value or a message with a line, throws no other error, and changes no prototype.
import fc from 'fast-check'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { PassThrough, Readable } from 'node:stream'
import { describe, expect, test } from 'vitest'
import { readEventData } from '../../src/api/client/event-stream.ts'
import { parseAgent, unknownToolMessage } from '../../src/config/agents/agent-file.ts'
import { USER_FORMAT, findCompose } from '../../src/config/config.ts'
import { parseMcpJson } from '../../src/config/mcp/parse-servers.ts'
import { parseYaml } from '../../src/config/yaml.ts'
import { JsonRpcLink } from '../../src/drivers/acp/json-rpc-link.ts'
import { quirksOf } from '../../src/drivers/acp/quirks.ts'
import { fieldsOf } from '../../src/drivers/command/formats/format.ts'
import { parseKnownCommand } from '../../src/drivers/command/formats/formats.ts'
import { createMeter } from '../../src/drivers/gateway/usage-meter.ts'
import { parseScript } from '../../src/drivers/native/scripts/script-file.ts'
import { KernelError } from '../../src/kernel/model/errors.ts'
import { OUTPUT_FORMATS } from '../../src/kernel/model/words.ts'
import { lookUp } from '../../src/kernel/util/lookup.ts'
import { MAX_NESTING, findTooDeepLine } from '../../src/kernel/util/nesting-depth.ts'
import { deep } from '../support/deep.ts'
import { tempDir } from '../support/tmp.ts'

const RUNS = deep(400, 20_000)
const PROTOTYPE = ['toString', 'constructor', 'valueOf', '__proto__', 'hasOwnProperty', '__defineGetter__', 'isPrototypeOf']

/** Pieces that replace parts of a text. */
const piece = fc.oneof(
  fc.constantFrom(
    ...PROTOTYPE,
    '[',
    ']',
    '{',
    '}',
    ': ',
    '- ',
    '\n',
    '"',
    "'",
    '#',
    '&a ',
    '*a',
    '!!js/function ',
    '? ',
    '|',
    '>',
    '---\n',
    '\t',
    '\r',
    '\0',
    '\ud800',
    '1e999',
    'null',
    '~',
    '{"__proto__":{"x":1}}',
  ),
  fc.string({ maxLength: 8 }),
  fc
    .tuple(fc.constantFrom('[', '{', '{"a":', '- ', 'a: ', '? ', '&a [*a,'), fc.integer({ min: 1, max: 3_000 }))
    .map(([one, times]) => one.repeat(times)),
)

/** A valid text with some parts replaced. */
function damagedText(...texts: readonly string[]): fc.Arbitrary<string> {
  const change = fc.tuple(fc.nat(1_000_000), fc.nat(12), piece)
  return fc.tuple(fc.constantFrom(...texts), fc.array(change, { maxLength: 4 })).map(([text, changes]) =>
    changes.reduce((changed, [at, length, put]) => {
      const from = at % (changed.length + 1)
      return changed.slice(0, from) + put + changed.slice(from + length)
    }, text),
  )
}

const AGENT =
  '---\nname: a\ndescription: d\ntools: [read, grep]\ndeny: bash\nlimits: { maxSteps: 3 }\nmcp: [s]\nmodel: anthropic/x\n---\nYou work.\n'
const CLAUDE = '---\nname: a\ndescription: d\ntools: Read, Grep, Bash(git add:*)\nmodel: sonnet\n---\nYou work.\n'
const PROJECT =
  'defaultModel: anthropic/x\nagents:\n  a: { intent: x }\n  b: { intent: "{{ nodes.a.result }}", depends_on: { a: completed } }\ncrews:\n  c: { workers: 2, tasks: [{ id: t, text: x }] }\n'
const CONFIG =
  'defaultModel: anthropic/x\nmcp:\n  s: { command: x, args: [a] }\ngc: { retention_days: 3 }\nproviders: [{ name: p, kind: anthropic, baseURL: "http://localhost/" }]\n'
const SCRIPT =
  'rules:\n  - when: /a+/i\n    steps: [{ text: hi, tools: [{ name: read, input: { path: a } }] }]\nsteps:\n  - { text: "{{ lastResult }}", usage: { input: 1, output: 2 } }\n  - choose: [{ if: x, text: y }, { text: z }]\n'
const MCP =
  '{ "mcpServers": { "s": { "command": "x", "args": ["a"], "env": { "A": "${B:-c}" } }, "t": { "type": "http", "url": "http://localhost/", "headers": {} } } }'
const LINES = [
  '{"type":"assistant","message":{"id":"m","model":"x","content":[{"type":"text","text":"hi"},{"type":"tool_use","id":"t","name":"Bash","input":{}}],"usage":{"input_tokens":1}},"session_id":"s"}',
  '{"type":"result","subtype":"success","is_error":false,"result":"done","total_cost_usd":0.1,"usage":{"input_tokens":1,"output_tokens":2}}',
  '{"type":"item.completed","item":{"id":"i","type":"command_execution","command":"ls","aggregated_output":"x","exit_code":1,"status":"completed"}}',
  '{"type":"tool_use","tool_name":"x","tool_id":"i","parameters":{}}',
  '{"type":"step_finish","part":{"tokens":{"input":1,"cache":{"read":1}},"cost":1}}',
]
const SSE =
  'event: message_start\ndata: {"type":"message_start","message":{"usage":{"input_tokens":3,"output_tokens":1}}}\n\ndata: {"type":"message_delta","usage":{"output_tokens":9}}\n\ndata: [DONE]\n\n'

/** Runs a parser over many texts. It may throw only a `KernelError`, and not INTERNAL. */
async function expectHarmless(text: fc.Arbitrary<string>, parse: (text: string) => unknown): Promise<void> {
  await fc.assert(
    fc.asyncProperty(text, async (hostileText) => {
      try {
        await parse(hostileText)
      } catch (error) {
        if (!(error instanceof KernelError) || error.code === 'INTERNAL') throw error
      }
      expect(({} as Record<string, unknown>)['x']).toBeUndefined()
    }),
    { numRuns: RUNS },
  )
}

const MCP_LOCATION = { file: '/repo/.mcp.json', dir: '/repo', home: '/repo' }

test('the original texts are valid', async () => {
  expect([
    parseAgent(AGENT, '/a.md', 'project'),
    parseAgent(CLAUDE, '/a.md', 'claude'),
    parseYaml(CONFIG, USER_FORMAT, 'config.yaml'),
  ]).toMatchObject([{ ok: true }, { ok: true }, { ok: true }])
  expect(await parseScript(SCRIPT, 's.yaml')).toMatchObject({ rules: [{}], steps: [{}, {}] })
  expect(parseMcpJson(MCP, MCP_LOCATION).map(({ problem }) => problem)).toEqual([undefined, undefined])
})

describe('hostile texts do no harm to', () => {
  test.each(['project', 'user', 'claude'] as const)('an agent file (%s)', (source) =>
    expectHarmless(damagedText(AGENT, CLAUDE), (text) => {
      const parsed = parseAgent(text, '/a.md', source)
      if (!parsed.ok) expect(parsed.problem).toMatchObject({ line: expect.any(Number), message: expect.stringMatching(/./) })
    }),
  )

  test('config.yaml', () =>
    expectHarmless(damagedText(CONFIG), (text) => {
      const parsed = parseYaml(text, USER_FORMAT, 'config.yaml')
      if (!parsed.ok) expect(parsed.problem).toMatchObject({ line: expect.any(Number), message: expect.stringMatching(/./) })
    }))

  test('reeve.yaml', async () => {
    await using dir = await tempDir()
    const file = join(dir.path, 'reeve.yaml')
    const parseText = async (text: string): Promise<unknown> => {
      await writeFile(file, text)
      return findCompose(dir.path, file).catch((error: unknown) => error)
    }
    expect(await parseText(PROJECT)).toMatchObject({ nodes: [{ name: 'a' }, { name: 'b' }] })
    await fc.assert(
      fc.asyncProperty(damagedText(PROJECT), async (text) => {
        const parsed = await parseText(text)
        if (parsed instanceof Error) expect(parsed).toMatchObject({ code: expect.stringMatching(/^(AGENT_INVALID|INVALID|NOT_FOUND)$/) })
      }),
      { numRuns: RUNS },
    )
  })

  test('a script', () => expectHarmless(damagedText(SCRIPT), (text) => parseScript(text, 's.yaml')))

  test('.mcp.json', () => expectHarmless(damagedText(MCP), (text) => expect(parseMcpJson(text, MCP_LOCATION).length).toBeLessThan(100)))

  test.each(OUTPUT_FORMATS)('JSON lines of %s', (name) =>
    expectHarmless(damagedText(...LINES), (text) => {
      const { format, command } = parseKnownCommand([name], name)
      const [value] = [text].flatMap((line) => {
        try {
          return [JSON.parse(line) as unknown]
        } catch {
          return []
        }
      })
      const observations = format.read(fieldsOf(value), command)
      expect(observations === null || Array.isArray(observations)).toBe(true)
    }),
  )

  test.each(['anthropic', 'responses', 'chat', 'gemini'] as const)('a stream of %s behind the gateway', (format) =>
    expectHarmless(damagedText(SSE), (text) => {
      const meter = createMeter(format, true)
      for (const chunk of [text.slice(0, 20), text.slice(20)]) meter.write(Buffer.from(chunk))
      expect(meter.readUsage(true).outputTokens).toBeGreaterThanOrEqual(0)
    }),
  )

  test('events of the API', async () => {
    await fc.assert(
      fc.asyncProperty(damagedText(SSE), async (text) => {
        const data: string[] = []
        for await (const event of readEventData(Readable.from([Buffer.from(text)]))) data.push(event)
        expect(data.length).toBeLessThanOrEqual(text.split('\n').length)
      }),
      { numRuns: RUNS },
    )
  })

  test('lines of an ACP agent', async () => {
    const message =
      '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"x"}}}}\n'
    await fc.assert(
      fc.asyncProperty(damagedText(message), async (text) => {
        const [stdout, stderr] = [new PassThrough(), new PassThrough()]
        const link = new JsonRpcLink({
          program: {
            handle: { pid: 0, startTime: '0', pgid: 0 },
            stdin: null,
            stdout,
            stderr,
            exited: Promise.resolve({ code: 0, signal: null }),
            signal: () => true,
          },
          waitForRoom: () => Promise.resolve(),
          onMessage: () => {},
        })
        stdout.end(`${text}\n${message}`)
        stderr.end()
        const receivedMessages: unknown[] = []
        for await (const received of link.stream.readable) receivedMessages.push(received)
        // Earlier garbage does not hide a whole line that follows.
        expect(receivedMessages.at(-1)).toMatchObject({ method: 'session/update' })
        await link.exited
      }),
      { numRuns: RUNS },
    )
  })
})

describe('names of prototype properties', () => {
  test.each(PROTOTYPE)('%s is not a tool, a model or a server', (name) => {
    expect(unknownToolMessage([name])).toContain(`there is no tool \`${name}\``)
    expect(parseAgent(AGENT.replace('[read, grep]', `[${name}]`), '/a.md', 'project')).toMatchObject({
      ok: false,
      problem: { message: expect.stringContaining('no tool') },
    })
    expect(parseAgent(CLAUDE.replace('Read, Grep', name).replace('sonnet', name), '/a.md', 'claude')).toMatchObject({
      ok: true,
      value: { model: null, tools: [] },
    })
    expect(quirksOf(name)).toEqual({})
    expect(lookUp({ a: 1 }, name)).toBeUndefined()
  })
})

describe('a text with too many levels', () => {
  const levels = 200_000

  test.each<readonly [string, string, number | null]>([
    ['brackets', '['.repeat(levels), 1],
    ['braces', '{a: '.repeat(levels), 1],
    ['lists in a line', `x: 1\n${'- '.repeat(levels)}`, 2],
    ['maps in a line', `\n\n${'a: '.repeat(levels)}`, 3],
    ['keys of keys', '? '.repeat(levels), 1],
    ['the greatest allowed depth', '['.repeat(MAX_NESTING) + ']'.repeat(MAX_NESTING), null],
    ['many lists one after another', '[]\n'.repeat(levels), null],
  ])('is found at its line, or accepted: %s', (_, text, line) => expect(findTooDeepLine(text)).toBe(line))

  test('is reported with its line, and takes less than 100 MB', async () => {
    const before = process.memoryUsage().rss
    expect(parseMcpJson(`\n${'['.repeat(levels)}`, MCP_LOCATION)).toMatchObject([{ problem: 'it is not valid JSON (line 2)' }])
    expect(parseYaml('['.repeat(levels), USER_FORMAT, 'reeve.yaml')).toMatchObject({
      ok: false,
      problem: { line: 1, message: 'nested more than 500 levels deep' },
    })
    await expect(parseScript('['.repeat(levels), 's.yaml')).rejects.toThrow('s.yaml:1: nested more than 500 levels deep')
    // Each of these once took more than 300 MB.
    expect(process.memoryUsage().rss - before).toBeLessThan(100_000_000)
  })
})
