// Sessions of an ACP agent. A new one: the handshake and its failures, MCP servers, modes, models, the role prompt. A continued one:
// nothing of it is recorded or charged twice.
import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { setImmediate } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { StoredFact } from '../../../src/kernel/model/facts.ts'
import type { McpStart } from '../../../src/kernel/model/mcp-start.ts'
import { openAcpHarness } from '../../support/agents/acp-harness.ts'
import type { AcpHarness } from '../../support/agents/acp-harness.ts'
import { findProcessesWith } from '../../support/living-processes.ts'
import { waitUntil } from '../../support/wait-until.ts'

const PROGRAM = fileURLToPath(new URL('../../support/programs/acp-agent.ts', import.meta.url))

let harness: AcpHarness

beforeEach(async () => {
  harness = await openAcpHarness()
})
afterEach(async () => {
  await harness[Symbol.asyncDispose]()
})

describe('the handshake', () => {
  test('reports the handle, the session and the capabilities', async () => {
    const run = await harness.start({ credentials: { AGENT_KEY: 'k1' } })
    await run.waitUntilUp()
    expect(run.kernel.reportsOf('up').at(-1)?.report).toMatchObject({
      handle: { pid: expect.any(Number) as number },
      sessionId: expect.stringMatching(/^s\d+$/) as string,
    })
    expect(run.readLogLines()[0]).toMatch(/^started \d+ key=k1$/)
    expect(JSON.parse(run.readLogLines()[1]?.slice('initialize '.length) ?? '')).toMatchObject({
      fs: { readTextFile: true, writeTextFile: true },
      terminal: true,
      elicitation: { form: {} },
    })
  })

  test('offers no denied capability', async () => {
    const run = await harness.start({ spec: { deny: ['write', 'bash'] } })
    await run.waitUntilUp()
    expect(JSON.parse(run.readLogLines()[1]?.slice('initialize '.length) ?? '')).toMatchObject({
      fs: { readTextFile: true, writeTextFile: false },
      terminal: false,
    })
  })

  test.each<[string, readonly string[], number | undefined, string]>([
    ['is silent', ['silent'], 300, 'the agent cannot be used: it was not ready within 0.3 s'],
    ['dies', ['dies'], undefined, 'the agent cannot be used: it has ended: exit code 5: cannot start: no licence'],
    [
      'is not logged in',
      ['auth'],
      undefined,
      "it is not logged in: Authentication required; it can log in by: Log in (run fake login). Log in with the agent's own command line, or set its key in the environment",
    ],
    ['speaks another version', ['old'], undefined, 'the agent cannot be used: it speaks version 0 of the protocol, and reeve version 1'],
  ])('with an agent that %s ends with the reason', async (_, agentOptions, handshakeMs, error) => {
    const run = await harness.start({ agentOptions: [...agentOptions, 'no-eof'], ...(handshakeMs === undefined ? {} : { handshakeMs }) })
    expect(await run.waitForExit()).toMatchObject({ error })
    await run.agent[Symbol.asyncDispose]()
    expect(findProcessesWith(harness.token)).toEqual([])
  })

  test.each([
    ['at its handshake', ['auth']],
    ['at its first prompt', []],
  ])('with a known agent that is not logged in names the command and the key: %s', async (_, agentOptions) => {
    const program = join(harness.dir, 'claude-agent-acp')
    writeFileSync(
      program,
      `#!/bin/sh\nexec '${process.execPath}' '${PROGRAM}' '${harness.token}' 'log=${harness.dir}/log' 'sessions=${harness.dir}' "$@"\n`,
      { mode: 0o755 },
    )
    const run = await harness.start({ argv: [program, ...agentOptions], spec: { permissions: { default: 'allow' } } })
    const error = agentOptions.length > 0 ? (await run.waitForExit()).error : (await run.runTurn('need-login')).error
    expect(error).toMatch(
      /it is not logged in: Authentication required\. Log in with `claude \/login`, or set ANTHROPIC_API_KEY in the environment$/,
    )
  })

  test('with an agent whose last line is only a brace ends with the line before it as the reason', async () => {
    const run = await harness.start({ agentOptions: ['braces'] })
    expect((await run.waitForExit()).error).toMatch(/: error: log in first$/)
  })

  test('can be stopped in the middle', async () => {
    const run = await harness.start({ agentOptions: ['silent', 'no-eof'] })
    await run.agent.stop({ signal: 'SIGTERM', graceMs: 300 })
    expect(await run.waitForExit()).not.toHaveProperty('error')
    expect(findProcessesWith(harness.token)).toEqual([])
  })

  test('without a program fails at once', async () => {
    await expect(harness.start({ argv: ['no-such-agent'] })).rejects.toMatchObject({ code: 'COMMAND_NOT_FOUND' })
  })
})

describe('a session', () => {
  const starts: readonly McpStart[] = [
    {
      state: 'ready',
      name: 'files',
      effects: {},
      startMs: 1,
      callMs: 1,
      notes: [],
      secrets: [],
      transport: { kind: 'stdio', argv: ['serve', '-x'], cwd: '/elsewhere', env: { TOKEN: 't' } },
    },
    {
      state: 'ready',
      name: 'web',
      effects: {},
      startMs: 1,
      callMs: 1,
      notes: [],
      secrets: [],
      transport: { kind: 'http', url: 'http://localhost:1/', headers: { Authorization: 'Bearer b' } },
    },
    { state: 'untrusted', name: 'bad', why: 'it is not trusted' },
  ]
  const mcp = starts.map(({ name }) => ({ name, source: 'test', kind: 'stdio', argv: [], env: {} }) as const)

  test.each([
    [
      ['http'],
      [{ type: 'http', name: 'web', url: 'http://localhost:1/', headers: [{ name: 'Authorization', value: 'Bearer b' }] }],
      ['MCP server bad is not used: it is not trusted'],
    ],
    [[], [], ['MCP server web is not used: the agent supports no servers over HTTP', 'MCP server bad is not used: it is not trusted']],
  ])('gets the MCP servers that it supports (%j)', async (agentOptions, web, notes) => {
    const run = await harness.start({ agentOptions, spec: { mcp }, servers: () => Promise.resolve(starts) })
    await run.waitUntilUp()
    const received = JSON.parse(
      run
        .readLogLines()
        .find((line) => line.startsWith('new '))
        ?.slice(4) ?? '',
    ) as object
    expect(received).toMatchObject({
      cwd: harness.dir,
      mcpServers: [
        {
          name: 'files',
          command: 'sh',
          args: ['-c', 'cd "$0" && exec "$@"', '/elsewhere', 'serve', '-x'],
          env: expect.arrayContaining([
            { name: 'TOKEN', value: 't' },
            { name: 'REEVE_PROC', value: expect.stringMatching(/\./) },
          ]),
        },
        ...web,
      ],
    })
    expect(run.kernel.factsOf('process.note').map(({ text }) => text)).toEqual(notes)
  })

  test.each(['models', 'old-models'])('gets its mode and its model (%s)', async (agentOption) => {
    const run = await harness.start({ agentOptions: ['modes', agentOption], spec: { mode: 'plan', model: 'any/two' } })
    await run.runTurn('say x')
    expect(run.readLogLines()).toEqual(expect.arrayContaining(['mode plan', 'model two']))
    expect(run.kernel.factsOf('model.started').map(({ model }) => model)).toEqual(['two'])
  })

  test('with an unknown model is refused, with a list of the known models', async () => {
    const run = await harness.start({ agentOptions: ['models'], spec: { model: 'nonsense' } })
    expect((await run.waitForExit()).error).toBe('the agent cannot be used: it has no model nonsense; it has one, two')
  })

  test('with an unknown mode is refused, with a list of the known modes', async () => {
    const run = await harness.start({ agentOptions: ['modes'], spec: { mode: 'yolo' } })
    expect((await run.waitForExit()).error).toBe('the agent cannot be used: it has no mode yolo; it has default, plan, auto')
  })

  test.each([
    [['systemPrompt'], 'say x', { mode: 'append', content: [{ type: 'text', text: 'You are R.' }] }],
    [[], 'You are R.\n\nsay x', undefined],
  ])('gets the role prompt (%j)', async (agentOptions, prompt, systemPrompt) => {
    const run = await harness.start({ agentOptions: agentOptions, spec: { system: 'You are R.' } })
    await run.runTurn('say x')
    expect(run.readLogLines()).toContain(`prompt ${JSON.stringify(prompt)}`)
    const received = JSON.parse(
      run
        .readLogLines()
        .find((line) => line.startsWith('new '))
        ?.slice(4) ?? '',
    ) as { systemPrompt?: unknown }
    expect(received.systemPrompt).toEqual(systemPrompt)
  })
})

describe('continuing', () => {
  test.each([['resume'], ['load'], ['load', 'late']])(
    'by session/%s (%s) uses the same session, and records and charges nothing twice',
    async (method, ...agentOptions) => {
      const first = await harness.start({ agentOptions: [method] })
      await first.runTurn('usage 10 100 0.5\nsay one\ntool execute ls')
      await first.agent[Symbol.asyncDispose]()
      const second = await harness.start({
        agentOptions: [method, ...agentOptions],
        sessionId: first.readSessionId(),
        earlierFacts: first.kernel.facts,
        spec: { system: 'You are R.' },
      })
      await second.waitUntilUp()
      if (method === 'load') await waitUntil(() => second.readLogLines().includes('replayed'), 'all was replayed')
      // The agent's output has been read after this turn of the event loop.
      await setImmediate()
      expect(await second.runTurn('usage 20 100 0.25\nsay two')).toMatchObject({ result: 'two' })
      expect(second.readLogLines().some((line) => line.startsWith(`${method} `))).toBe(true)
      expect(second.kernel.reportsOf('output')).toEqual([])
      expect(second.readSessionId()).toBe(first.readSessionId())
      expect(second.readLogLines()).toContain(`prompt ${JSON.stringify('usage 20 100 0.25\nsay two')}`)
      expect(second.kernel.reportsOf('model.started').map(({ report }) => report.step)).toEqual([2])
      expect(second.kernel.reportsOf('usage').map(({ report }) => report.usage.costUsd)).toEqual([0.25])
      expect(second.kernel.liveOutputs.filter(({ type }) => type === 'text')).toEqual([{ type: 'text', step: 2, text: 'two' }])
    },
  )

  test.each([
    ['gemini-cli', 12_000, [48_100]],
    ['gemini-cli', 61_000, []],
    ['fake', 12_000, []],
  ])('a session of %s that is %i ms old is loaded after these delays in ms: %j', async (name, ageMs, delaysMs) => {
    const startedAt = Date.UTC(2026, 10, 20, 12, 30)
    const waitedMs: number[] = []
    const clock = {
      now: () => startedAt + ageMs,
      sleep: (ms: number) => {
        waitedMs.push(ms)
        return Promise.resolve()
      },
    }
    const first = await harness.start({ agentOptions: ['load'] })
    await first.runTurn('say one')
    const handle: StoredFact = {
      uuid: 'test',
      seq: 0,
      pid: 1,
      at: startedAt,
      cursor: 0,
      body: { type: 'process.handle', handle: null, sessionId: first.readSessionId() },
    }
    const second = await harness.start({
      agentOptions: ['load', `name=${name}`],
      sessionId: first.readSessionId(),
      earlierFacts: [handle, ...first.kernel.facts],
      clock,
    })
    expect(await second.runTurn('say two')).toMatchObject({ result: 'two' })
    expect(waitedMs).toEqual(delaysMs)
    expect(second.kernel.factsOf('process.note').map(({ text }) => text)).toEqual(
      delaysMs.map(() => 'it loses a session that is opened again in the minute in which it began: waiting for 49 s'),
    )
  })

  test('a session of Gemini CLI can be loaded again and again; the files of its earlier runs are set aside, not removed', async () => {
    const gemini = join(harness.dir, 'gemini')
    writeFileSync(gemini, `#!/bin/sh\nexec '${process.execPath}' '${PROGRAM}' sessions='${harness.dir}' load modes stubs "$@"\n`, {
      mode: 0o755,
    })
    const first = await harness.start({ argv: [gemini] })
    await first.runTurn('say one')
    await first.agent[Symbol.asyncDispose]()
    for (const text of ['two', 'three', 'four']) {
      const next = await harness.start({ argv: [gemini], sessionId: first.readSessionId() })
      expect(await next.runTurn(`say ${text}`)).toMatchObject({ result: text })
      await next.agent[Symbol.asyncDispose]()
    }
    const chats = readdirSync(join(harness.dir, '.gemini/tmp/project/chats'))
    expect(chats.filter((name) => name.endsWith('.jsonl')).length).toBe(1)
    expect(chats.filter((name) => name.includes('.aside-')).length).toBe(3)
  })

  test('is refused if the agent can neither resume nor load a session', async () => {
    const run = await harness.start({ sessionId: 's1' })
    expect((await run.waitForExit()).error).toMatch(/it can neither resume nor load a session.*NOT_RESUMABLE/)
  })

  test.each([
    ['that had not begun sends its message again', '', 'say hello'],
    [
      'that had begun sends a notice that the turn was cut off',
      'say begun\n',
      expect.stringMatching(/^Your last turn was cut off\./) as string,
    ],
  ])('with a turn %s', async (_, pastActs, prompt) => {
    const first = await harness.start({ agentOptions: ['resume'] })
    await first.waitUntilUp()
    await first.send(pastActs === '' ? 'say hello' : `${pastActs}hang`)
    if (pastActs !== '') await first.kernel.waitFor(() => first.kernel.factsOf('model.started').length === 1, 'it has begun')
    else await first.kernel.waitForTurnEnd()
    await first.agent.stop({ signal: 'SIGKILL', graceMs: 0 })
    const facts =
      pastActs === ''
        ? first.kernel.facts.filter(({ body }) => ['process.queue', 'process.incoming', 'process.working'].includes(body.type))
        : first.kernel.facts
    const second = await harness.start({ agentOptions: ['resume'], sessionId: first.readSessionId(), earlierFacts: facts })
    await second.waitUntilUp()
    await second.agent.proceed(1)
    await second.kernel.waitFor(() => second.kernel.reportsOf('turn.ended').length === 1, 'the turn goes on and ends')
    const received = second
      .readLogLines()
      .filter((line) => line.startsWith('prompt '))
      .map((line) => JSON.parse(line.slice('prompt '.length)) as string)
    expect(received).toEqual([prompt])
  })
})
