// Opening a session of an agent that speaks ACP: the handshake and what goes wrong in it, servers, modes, models, the role
// prompt; and going on with a session, of which nothing is recorded or charged twice.
import { setImmediate } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { StoredFact } from '../../src/kernel/facts.ts'
import type { McpStart } from '../../src/kernel/mcp.ts'
import { acpBench } from '../support/acp-bench.ts'
import type { AcpBench } from '../support/acp-bench.ts'
import { eventually, livingWith } from '../support/living.ts'

let bench: AcpBench

beforeEach(async () => { bench = await acpBench() })
afterEach(async () => { await bench[Symbol.asyncDispose]() })

describe('the handshake', () => {
  test('says what it is: a handle, a session, and what may be done', async () => {
    const run = await bench.start({ credentials: { AGENT_KEY: 'k1' } })
    await run.up()
    expect(run.kernel.reports('up').at(-1)?.report).toMatchObject({ handle: { pid: expect.any(Number) as number }, sessionId: expect.stringMatching(/^s\d+$/) as string })
    expect(run.noted()[0]).toMatch(/^started \d+ key=k1$/)
    expect(JSON.parse(run.noted()[1]?.slice('initialize '.length) ?? '')).toMatchObject({ fs: { readTextFile: true, writeTextFile: true }, terminal: true, elicitation: { form: {} } })
  })

  test('offers nothing that is denied', async () => {
    const run = await bench.start({ spec: { deny: ['write', 'bash'] } })
    await run.up()
    expect(JSON.parse(run.noted()[1]?.slice('initialize '.length) ?? '')).toMatchObject({ fs: { readTextFile: true, writeTextFile: false }, terminal: false })
  })

  test.each<[string, readonly string[], number | undefined, string]>([
    ['is silent', ['silent'], 300, 'the agent cannot be used: it was not ready within 0.3 s'],
    ['dies', ['dies'], undefined, 'the agent cannot be used: it has ended: exit code 5: cannot start: no licence'],
    ['is not logged in', ['auth'], undefined, 'the agent cannot be used: it is not logged in: Authentication required; it can be by: Log in (run fake login). Log in with the agent\'s own command line, or set its key in the environment'],
    ['speaks another version', ['old'], undefined, 'the agent cannot be used: it speaks version 0 of the protocol, and reeve version 1'],
  ])('of one that %s ends with the reason', async (_, as, handshakeMs, error) => {
    const run = await bench.start({ as: [...as, 'no-eof'], ...(handshakeMs === undefined ? {} : { handshakeMs }) })
    expect(await run.exited()).toMatchObject({ error })
    await run.agent[Symbol.asyncDispose]()
    expect(livingWith(bench.token)).toEqual([])
  })

  test('can be stopped in the middle', async () => {
    const run = await bench.start({ as: ['silent', 'no-eof'] })
    await run.agent.stop({ signal: 'SIGTERM', graceMs: 300 })
    expect(await run.exited()).not.toHaveProperty('error')
    expect(livingWith(bench.token)).toEqual([])
  })

  test('without a program says so at once', async () => {
    await expect(bench.start({ argv: ['no-such-agent'] })).rejects.toMatchObject({ code: 'COMMAND_NOT_FOUND' })
  })
})

describe('a session', () => {
  const starts: readonly McpStart[] = [
    { state: 'ready', name: 'files', effects: {}, startMs: 1, callMs: 1, notes: [], secrets: [], reach: { kind: 'stdio', argv: ['serve', '-x'], cwd: '/elsewhere', env: { TOKEN: 't' } } },
    { state: 'ready', name: 'web', effects: {}, startMs: 1, callMs: 1, notes: [], secrets: [], reach: { kind: 'http', url: 'http://localhost:1/', headers: { Authorization: 'Bearer b' } } },
    { state: 'untrusted', name: 'bad', why: 'nobody trusts it' },
  ]
  const mcp = starts.map(({ name }) => ({ name, source: 'test', kind: 'stdio', argv: [], env: {} }) as const)

  test.each([
    [['http'], [{ type: 'http', name: 'web', url: 'http://localhost:1/', headers: [{ name: 'Authorization', value: 'Bearer b' }] }], ['MCP server bad is not used: nobody trusts it']],
    [[], [], ['MCP server web is not used: the agent takes none over HTTP', 'MCP server bad is not used: nobody trusts it']],
  ])('gets the MCP servers that it takes (%j)', async (as, web, notes) => {
    const run = await bench.start({ as, spec: { mcp }, servers: () => Promise.resolve(starts) })
    await run.up()
    const told = JSON.parse(run.noted().find((line) => line.startsWith('new '))?.slice(4) ?? '') as object
    expect(told).toMatchObject({
      cwd: bench.dir,
      mcpServers: [{ name: 'files', command: 'sh', args: ['-c', 'cd "$0" && exec "$@"', '/elsewhere', 'serve', '-x'], env: [{ name: 'TOKEN', value: 't' }] }, ...web],
    })
    expect(run.kernel.of('process.note').map(({ text }) => text)).toEqual(notes)
  })

  test.each(['models', 'old-models'])('gets its mode and its model (%s)', async (as) => {
    const run = await bench.start({ as: ['modes', as], spec: { mode: 'plan', model: 'any/two' } })
    await run.turn('say x')
    expect(run.noted()).toEqual(expect.arrayContaining(['mode plan', 'model two']))
    expect(run.kernel.of('model.started').map(({ model }) => model)).toEqual(['two'])
  })

  test('with a mode that is not there is refused, with those that are', async () => {
    const run = await bench.start({ as: ['modes'], spec: { mode: 'yolo' } })
    expect((await run.exited()).error).toBe('the agent cannot be used: it has no mode yolo; it has default, plan')
  })

  test('with a model that is not there goes on with its own, and says so', async () => {
    const run = await bench.start({ as: ['models'], spec: { model: 'three' } })
    await run.turn('say x')
    expect(run.kernel.of('process.note').map(({ text }) => text)).toEqual(['the agent has no model three; it has one, two'])
    expect(run.kernel.of('model.started').map(({ model }) => model)).toEqual(['one'])
  })

  test.each([[['systemPrompt'], 'say x', { mode: 'append', content: [{ type: 'text', text: 'You are R.' }] }], [[], 'You are R.\n\nsay x', undefined]])('is told the role prompt (%j)', async (as, prompt, systemPrompt) => {
    const run = await bench.start({ as, spec: { system: 'You are R.' } })
    await run.turn('say x')
    expect(run.noted()).toContain(`prompt ${JSON.stringify(prompt)}`)
    const told = JSON.parse(run.noted().find((line) => line.startsWith('new '))?.slice(4) ?? '') as { systemPrompt?: unknown }
    expect(told.systemPrompt).toEqual(systemPrompt)
  })
})

describe('going on', () => {
  test.each([['resume'], ['load'], ['load', 'late']])('by session/%s (%s): with its session; nothing is recorded or charged again', async (how, ...more) => {
    const first = await bench.start({ as: [how] })
    await first.turn('usage 10 100 0.5\nsay one\ntool execute ls')
    await first.agent[Symbol.asyncDispose]()
    const second = await bench.start({ as: [how, ...more], sessionId: first.sessionId(), after: first.kernel.facts, spec: { system: 'You are R.' } })
    await second.up()
    if (how === 'load') await eventually(() => second.noted().includes('replayed'), 'all was told')
    // What it wrote has been read.
    await setImmediate()
    expect(await second.turn('usage 20 100 0.25\nsay two')).toMatchObject({ result: 'two' })
    expect(second.noted().some((line) => line.startsWith(`${how} `))).toBe(true)
    expect(second.kernel.reports('output')).toEqual([])
    expect(second.sessionId()).toBe(first.sessionId())
    expect(second.noted()).toContain(`prompt ${JSON.stringify('usage 20 100 0.25\nsay two')}`)
    expect(second.kernel.reports('model.started').map(({ report }) => report.step)).toEqual([2])
    expect(second.kernel.reports('usage').map(({ report }) => report.usage.costUsd)).toEqual([0.25])
    expect(second.kernel.lives.filter(({ type }) => type === 'text')).toEqual([{ type: 'text', step: 2, text: 'two' }])
  })

  test.each([
    ['gemini-cli', 12_000, [48_100]],
    ['gemini-cli', 61_000, []],
    ['fake', 12_000, []],
  ])('with a session of %s that is %i ms old', async (name, ageMs, rests) => {
    const begunAt = Date.UTC(2026, 10, 20, 12, 30)
    const rested: number[] = []
    const clock = { now: () => begunAt + ageMs, rest: (ms: number) => { rested.push(ms); return Promise.resolve() } }
    const first = await bench.start({ as: ['load'] })
    await first.turn('say one')
    const handle: StoredFact = { uuid: 'test', seq: 0, pid: 1, at: begunAt, cursor: 0, body: { type: 'process.handle', handle: null, sessionId: first.sessionId() } }
    const second = await bench.start({ as: ['load', `name=${name}`], sessionId: first.sessionId(), after: [handle, ...first.kernel.facts], clock })
    expect(await second.turn('say two')).toMatchObject({ result: 'two' })
    expect(rested).toEqual(rests)
    expect(second.kernel.of('process.note').map(({ text }) => text)).toEqual(rests.map(() => 'it loses a session that is opened again in the minute in which it began: waiting for 49 s'))
  })

  test('is refused by an agent that can do neither', async () => {
    const run = await bench.start({ sessionId: 's1' })
    expect((await run.exited()).error).toMatch(/it can neither resume nor load a session.*NOT_RESUMABLE/)
  })

  test.each([
    ['that had not begun is told its message again', '', 'say hello'],
    ['that had begun is told that it was cut off', 'say begun\n', expect.stringMatching(/^Your last turn was cut off\./) as string],
  ])('with a turn %s', async (_, before, prompt) => {
    const first = await bench.start({ as: ['resume'] })
    await first.up()
    await first.send(before === '' ? 'say hello' : `${before}hang`)
    if (before !== '') await first.kernel.until(() => first.kernel.of('model.started').length === 1, 'it has begun')
    else await first.kernel.ended()
    await first.agent.stop({ signal: 'SIGKILL', graceMs: 0 })
    const facts = before === '' ? first.kernel.facts.filter(({ body }) => ['process.queue', 'process.incoming', 'process.working'].includes(body.type)) : first.kernel.facts
    const second = await bench.start({ as: ['resume'], sessionId: first.sessionId(), after: facts })
    await second.up()
    await second.agent.proceed(1)
    await second.kernel.until(() => second.kernel.reports('turn.ended').length === 1, 'the turn goes on and ends')
    const told = second.noted().filter((line) => line.startsWith('prompt ')).map((line) => JSON.parse(line.slice('prompt '.length)) as string)
    expect(told).toEqual([prompt])
  })
})
