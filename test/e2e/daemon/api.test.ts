// The answers of each API route, and its refusals with their error codes, through the real socket of one daemon.
// api-processes.test.ts tests running processes.
import { chmod, mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ApiError } from '../../../src/api/client/api-error.ts'
import { ERRORS } from '../../../src/kernel/model/errors.ts'
import { testEnv } from '../../support/env.ts'
import { LocalDaemon } from '../../support/daemon/local-daemon.ts'

let daemon: LocalDaemon

beforeAll(async () => {
  daemon = await LocalDaemon.start({
    config: 'providers: [{ name: nokey, kind: openai-compatible, baseURL: "http://127.0.0.1:1/v1", apiKeyEnv: NO_SUCH_KEY }]\n',
  })
})
afterAll(async () => {
  await daemon[Symbol.asyncDispose]()
  expect(daemon.errors).toEqual([])
})

const JSON_TYPE = { 'content-type': 'application/json' }

/** Returns the error of a promise that must fail. */
async function errorOf(promise: Promise<unknown>): Promise<ApiError> {
  const error: unknown = await promise.then(
    (value) => new Error(`it did not fail: ${JSON.stringify(value)}`),
    (reason: unknown) => reason,
  )
  if (error instanceof ApiError) return error
  throw error
}

function spawnBody(fields: object): object {
  return { cwd: daemon.work, env: testEnv(daemon.work), ...fields }
}

describe('the form of a request', () => {
  const spawn = '/v1/processes'

  test.each<[string, object, string, RegExp]>([
    ['text that is not JSON', { headers: JSON_TYPE, body: '{"cwd":' }, 'INVALID', /JSON/],
    ['an empty body', { headers: JSON_TYPE, body: '' }, 'INVALID', /body/i],
    ['a body with `__proto__`', { headers: JSON_TYPE, body: '{"__proto__":{"cwd":"/"}}' }, 'INVALID', /./],
    ['JSON that is not an object', { headers: JSON_TYPE, body: '[]' }, 'INVALID', /object/],
    ['an unknown field', { headers: JSON_TYPE, body: '{"cwd":"/","argv":["true"],"sudo":true}' }, 'INVALID', /sudo/],
    ['a wrong type', { headers: JSON_TYPE, body: '{"cwd":"/","argv":"true"}' }, 'INVALID', /argv/],
    ['a missing field', { headers: JSON_TYPE, body: '{"argv":["true"]}' }, 'INVALID', /cwd/],
    ['a relative directory', { headers: JSON_TYPE, body: '{"cwd":"home","argv":["true"]}' }, 'INVALID', /absolute/],
    ['a negative duration', { headers: JSON_TYPE, body: '{"cwd":"/","argv":["true"],"limits":{"timeoutMs":-1}}' }, 'INVALID', /timeoutMs/],
    ['a body of 9 MB', { headers: JSON_TYPE, body: `{"cwd":"/","intent":"${'x'.repeat(9_000_000)}"}` }, 'INVALID', /large/],
    ['text/plain', { headers: { 'content-type': 'text/plain' }, body: '{"cwd":"/","argv":["true"]}' }, 'FORBIDDEN', /application\/json/],
    ['a form', { headers: { 'content-type': 'application/x-www-form-urlencoded' }, body: 'cwd=/' }, 'FORBIDDEN', /application\/json/],
    ['no content type', { body: '{"cwd":"/","argv":["true"]}' }, 'FORBIDDEN', /application\/json/],
    ['an Origin', { headers: { ...JSON_TYPE, origin: 'https://example.com' }, body: '{"cwd":"/","argv":["true"]}' }, 'FORBIDDEN', /Origin/],
    [
      'the Origin of a local page',
      { headers: { ...JSON_TYPE, origin: 'null' }, body: '{"cwd":"/","argv":["true"]}' },
      'FORBIDDEN',
      /Origin/,
    ],
  ])('%s is refused', async (_name, request, code, message) => {
    const countBefore = (await daemon.client.get<{ processes: object[] }>(spawn, { all: true })).processes.length
    const answer = await daemon.sendRaw({ method: 'POST', path: spawn, ...request })
    expect(answer.body).toMatchObject({
      version: 1,
      error: { code, message: expect.stringMatching(message), hint: expect.stringMatching(/./) },
    })
    expect(answer.status).toBe(ERRORS[code as keyof typeof ERRORS].http)
    expect((await daemon.client.get<{ processes: object[] }>(spawn, { all: true })).processes).toHaveLength(countBefore)
  })

  test('a POST without a body and a content type is refused, so that a web page cannot stop the daemon', async () => {
    expect(await daemon.sendRaw({ method: 'POST', path: '/v1/daemon/stop' })).toMatchObject({
      status: 403,
      body: { error: { code: 'FORBIDDEN' } },
    })
    expect(await daemon.sendRaw({ path: '/v1/processes', headers: { origin: 'https://example.com' } })).toMatchObject({
      status: 403,
      body: { error: { code: 'FORBIDDEN' } },
    })
  })

  test.each([
    ['GET', '/v1/nothing', 404],
    ['DELETE', '/v1/processes', 404],
    ['GET', '/', 404],
    ['GET', '/v1/processes/%zz', 400],
    ['GET', `/v1/processes/${'x'.repeat(300)}/steps`, 400],
  ])('%s %s is refused with the usual error', async (method, path, status) => {
    expect(await daemon.sendRaw({ method, path })).toMatchObject({
      status,
      body: { version: 1, error: { code: 'INVALID', hint: expect.any(String) } },
    })
  })

  test.each(['?limit=x', '?limit=-1', '?limit=1000000', '?all=yes', '?nothing=1'])('a list with %s is INVALID', async (query) => {
    expect(await daemon.sendRaw({ path: `/v1/processes${query}` })).toMatchObject({ status: 400, body: { error: { code: 'INVALID' } } })
  })
})

describe('spawn', () => {
  test('answers 201 with the whole view', async () => {
    const answer = await daemon.post('/v1/processes', spawnBody({ argv: ['true'], name: 'first.one_2-3' }))
    expect(answer.status).toBe(201)
    const { process } = answer.body as unknown as { process: Record<string, unknown> }
    expect(process).toMatchObject({
      driver: 'command',
      name: 'first.one_2-3',
      ppid: 0,
      parentUuid: null,
      intent: 'true',
      cwd: daemon.work,
      agent: 'command',
      model: null,
      pinned: false,
    })
    expect(Object.keys(process)).toEqual(expect.arrayContaining(PROCESS_VIEW))
    await daemon.waitForEnd(String(process['uuid']))
  })

  test.each<[string, object, string, RegExp]>([
    ['a name of digits', { argv: ['true'], name: '1234' }, 'INVALID', /name/],
    ['a name with a slash', { argv: ['true'], name: 'a/b' }, 'INVALID', /name/],
    ['a name that begins with a dash', { argv: ['true'], name: '-rf' }, 'INVALID', /name/],
    ['a name of 65 letters', { argv: ['true'], name: 'n'.repeat(65) }, 'INVALID', /name/],
    ['a name with a newline', { argv: ['true'], name: 'a\n' }, 'INVALID', /name/],
    ['a budget of a command', { argv: ['true'], limits: { budgetUsd: 1, timeoutMs: 1000 } }, 'INVALID', /a plain command has no budgetUsd/],
    ['a step limit of a command', { argv: ['true'], limits: { maxSteps: 1 } }, 'INVALID', /a plain command has no maxSteps/],
    ['the model of a command', { argv: ['true'], model: 'script:x.yaml' }, 'INVALID', /a plain command has no model/],
    [
      'the agent and tools of a command',
      { argv: ['true'], agent: 'default', allow: ['read'], deny: ['bash'] },
      'INVALID',
      /has no agent, allow, deny/,
    ],
    ['an interactive command', { argv: ['true'], interactive: true }, 'INVALID', /has no interactive/],
    ['an unknown denied tool', { intent: 'x', model: 'script:x.yaml', deny: ['bsh'] }, 'INVALID', /no tool `bsh`; did you mean `bash`/],
    [
      'an unknown allowed tool',
      { intent: 'x', model: 'script:x.yaml', allow: ['read', 'fly'] },
      'INVALID',
      /no tool `fly`; there are read, write/,
    ],
    ['an empty argv', { argv: [] }, 'INVALID', /argv/],
    ['a NUL in a word', { argv: ['true', 'a\0b'] }, 'INVALID', /NUL/],
    ['a NUL in the environment', { argv: ['true'], env: { A: 'b\0c' } }, 'INVALID', /NUL/],
    ['a missing directory', { argv: ['true'], cwd: '/no/such/dir' }, 'INVALID', /\/no\/such\/dir/],
    ['an unknown agent', { agent: 'nobody', intent: 'x' }, 'AGENT_INVALID', /nobody.*default/],
    ['no model', { intent: 'x' }, 'INVALID', /--model/],
    ['a model without a provider', { intent: 'x', model: 'gpt' }, 'INVALID', /gpt.*anthropic/],
    ['an unknown provider', { intent: 'x', model: 'none/gpt' }, 'INVALID', /none\/gpt.*anthropic/],
    ['a model whose key is missing', { intent: 'x', model: 'nokey/small' }, 'CREDENTIALS_MISSING', /NO_SUCH_KEY/],
    ['nothing to do', { model: 'script:x.yaml' }, 'INVALID', /intent/],
    ['an unknown parent', { argv: ['true'], parent: 'no-such' }, 'NOT_FOUND', /no-such/],
    [
      'a too large environment',
      { argv: ['true'], env: Object.fromEntries([1, 2, 3].map((n) => [`BIG_${n}`, 'x'.repeat(200_000)])) },
      'INVALID',
      /environment/,
    ],
  ])('%s is refused and leaves no row', async (_name, fields, code, message) => {
    const countBefore = (await daemon.client.get<{ processes: object[] }>('/v1/processes', { all: true })).processes.length
    const answer = await daemon.post('/v1/processes', spawnBody(fields))
    expect(answer.body.error).toMatchObject({ code, message: expect.stringMatching(message) })
    expect(answer.status).toBe(ERRORS[code as keyof typeof ERRORS].http)
    expect((await daemon.client.get<{ processes: object[] }>('/v1/processes', { all: true })).processes).toHaveLength(countBefore)
  })

  test('a name belongs to one living process, and is free after its end', async () => {
    const { uuid } = await daemon.spawnShell('sleep 600', { name: 'mine' })
    const error = await errorOf(daemon.spawnShell('true', { name: 'mine' }))
    expect(error).toMatchObject({ code: 'CONFLICT', details: { uuid } })
    await daemon.signal('mine', 'SIGKILL')
    await daemon.waitForEnd(uuid)
    const next = await daemon.spawnShell('true', { name: 'mine' })
    expect((await daemon.waitForEnd(next.uuid)).status).toBe('completed')
  })

  test.each([
    ['127 after a missing command', ['no-such-command-anywhere'], 127],
    ['126 after a file that is not executable', ['./not-executable'], 126],
    ['126 after a directory', ['./'], 126],
    ['126 after a missing interpreter', ['./no-interpreter'], 126],
  ])('%s is the exit code of the process', async (_name, argv, code) => {
    await writeFile(join(daemon.work, 'not-executable'), 'true\n', { mode: 0o644 })
    await writeFile(join(daemon.work, 'no-interpreter'), '#!/no/such/interpreter\n', { mode: 0o755 })
    const { uuid } = await daemon.spawn({ argv })
    const view = await daemon.waitForEnd(uuid)
    expect(view).toMatchObject({ status: 'failed', state: 'dead', exit: { code, error: expect.stringMatching(/./) } })
  })

  test('a process in a directory that its user may not enter exits with 126, and with 0 for root', async () => {
    const dir = join(daemon.work, 'closed')
    await mkdir(dir)
    await chmod(dir, 0o000)
    const view = await daemon.waitForEnd((await daemon.spawn({ argv: ['true'], cwd: dir })).uuid)
    expect(view.exit?.code).toBe(process.getuid?.() === 0 ? 0 : 126)
    await chmod(dir, 0o700)
  })
})

describe('references', () => {
  test('find a process by its PID, its name, its UUID, and the first or last digits of its UUID', async () => {
    const { uuid, pid } = await daemon.spawnShell('sleep 600', { name: 'findme' })
    for (const ref of [pid, 'findme', uuid, `id:${uuid.slice(-8)}`, uuid.slice(0, 34)]) expect((await daemon.view(ref)).uuid).toBe(uuid)
    await daemon.signal('findme', 'SIGKILL')
    await daemon.waitForEnd(uuid)
    for (const ref of [pid, 'findme', uuid, `id:${uuid.slice(-8)}`]) expect((await daemon.view(ref)).uuid).toBe(uuid)
  })

  test('an unknown reference is NOT_FOUND on every route', async () => {
    for (const path of ['', '/steps', '/logs', '/events', '/wait']) {
      expect(await daemon.sendRaw({ path: `/v1/processes/nobody${path}` })).toMatchObject({
        status: 404,
        body: { error: { code: 'NOT_FOUND', message: 'no process "nobody"' } },
      })
    }
    const bodies = { signal: { signal: 'SIGTERM' }, pause: {}, resume: {}, send: { text: 'x' } }
    for (const [verb, body] of Object.entries(bodies))
      expect(await daemon.post(`/v1/processes/nobody/${verb}`, body)).toMatchObject({
        status: 404,
        body: { error: { code: 'NOT_FOUND' } },
      })
  })

  test('an ambiguous reference lists the candidates', async () => {
    const one = await daemon.spawnShell('sleep 600', { name: 'cand-1' })
    const secondCandidate = await daemon.spawnShell('sleep 600', { name: 'cand-2' })
    const sharedDigits = one.uuid.slice(0, 6)
    expect(secondCandidate.uuid.slice(0, 6)).toBe(sharedDigits)
    const error = await errorOf(daemon.view(sharedDigits))
    expect(error).toMatchObject({ code: 'AMBIGUOUS', exit: 3 })
    const candidates = error.details?.['candidates'] as { uuid: string; pid: number; name: string }[]
    expect(candidates).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ uuid: one.uuid, pid: one.pid, name: 'cand-1' }),
        expect.objectContaining({ uuid: secondCandidate.uuid }),
      ]),
    )
    expect((await errorOf(daemon.signal(sharedDigits, 'SIGKILL'))).code).toBe('AMBIGUOUS')
    await daemon.signal(one.uuid, 'SIGKILL')
    await daemon.signal(secondCandidate.uuid, 'SIGKILL')
  })

  test('PID 0 is the kernel: it cannot be inspected, signalled, paused or resumed', async () => {
    expect((await errorOf(daemon.view(0))).code).toBe('PERMISSION')
    expect((await errorOf(daemon.signal('0', 'SIGKILL'))).code).toBe('PERMISSION')
    expect((await errorOf(daemon.pause('0', { subtree: true }))).code).toBe('PERMISSION')
    expect((await errorOf(daemon.resume('0'))).code).toBe('PERMISSION')
  })
})

describe('impossible commands', () => {
  test('an ended process accepts no signal, pause or message, and a command no plain resume', async () => {
    const { uuid } = await daemon.spawnShell('exit 3')
    await daemon.waitForEnd(uuid)
    expect((await errorOf(daemon.signal(uuid, 'SIGTERM'))).code).toBe('NOT_FOUND')
    expect((await errorOf(daemon.pause(uuid))).code).toBe('NOT_FOUND')
    expect((await errorOf(daemon.send(uuid, 'hello'))).code).toBe('NOT_FOUND')
    expect(await errorOf(daemon.resume(uuid))).toMatchObject({ code: 'NOT_RESUMABLE', message: expect.stringMatching(/--rerun/) })
    expect((await daemon.view(uuid)).exit?.code).toBe(3)
  })

  test('an unknown signal, a message to a command, and a message with the resume of a running command are refused', async () => {
    const { uuid } = await daemon.spawnShell('sleep 600')
    expect((await errorOf(daemon.signal(uuid, 'SIGHUP'))).message).toMatch(/SIGHUP.*SIGTERM/)
    expect((await errorOf(daemon.signal(uuid, 9))).code).toBe('INVALID')
    expect((await errorOf(daemon.send(uuid, 'hello'))).code).toBe('INVALID')
    expect((await errorOf(daemon.resume(uuid, { message: 'go' }))).code).toBe('INVALID')
    expect(await daemon.resume(uuid)).toMatchObject({ affected: 0, note: 'it was not suspended' })
    expect((await daemon.signal(uuid, 2)).process.status).toBe('stopping')
    expect((await daemon.waitForEnd(uuid)).exit).toMatchObject({ code: 137, signal: 'SIGKILL' })
  })
})

describe('the other reading routes', () => {
  test('list returns living processes, and with `all` ended ones too, up to the limit', async () => {
    const { uuid: endedUuid } = await daemon.spawnShell('true')
    await daemon.waitForEnd(endedUuid)
    const { uuid: alive } = await daemon.spawnShell('sleep 600')
    const list = async (query: object): Promise<string[]> =>
      (await daemon.client.get<{ processes: { uuid: string }[] }>('/v1/processes', { ...query })).processes.map((one) => one.uuid)
    expect(await list({})).toContain(alive)
    expect(await list({})).not.toContain(endedUuid)
    expect(await list({ all: true })).toEqual(expect.arrayContaining([endedUuid, alive]))
    expect(await list({ all: true, limit: 1 })).toContain(endedUuid)
    await daemon.signal(alive, 'SIGKILL')
    await daemon.waitForEnd(alive)
  })

  test('logs returns the last lines, with the cursor after them', async () => {
    const { uuid } = await daemon.spawnShell('echo one; echo two; echo three >&2')
    await daemon.waitForEnd(uuid)
    const { lines, cursor } = await daemon.client.get<{ lines: { stream: string; text: string; at: string }[]; cursor: number }>(
      `/v1/processes/${uuid}/logs`,
    )
    expect(lines.filter((line) => line.stream === 'stdout').map((line) => line.text)).toEqual(['one', 'two'])
    expect(lines).toContainEqual({ stream: 'stderr', text: 'three', at: expect.stringMatching(/T.*[+-]\d\d:\d\d$/) })
    expect(cursor).toBe((await daemon.readHistory(uuid)).findLast((event) => event.type === 'process.exited')?.seq)
    const lastLine = await daemon.client.get<{ lines: { text: string }[] }>(`/v1/processes/${uuid}/logs`, { tail: 1 })
    expect(lastLine.lines.map((line) => line.text)).toEqual(['ended: completed (0)'])
  })

  test('steps returns pages, each step with its tools', async () => {
    const tool = { tools: [{ name: 'bash', input: { command: 'echo hi' } }], usage: { input: 10, output: 2 } }
    const { uuid } = await daemon.spawnScripted([tool, tool, { text: 'done' }])
    await daemon.waitForEnd(uuid)
    const steps = async (query: object): Promise<{ step: number; tools: object[]; text: string | null }[]> =>
      (
        await daemon.client.get<{ steps: { step: number; tools: object[]; text: string | null }[] }>(`/v1/processes/${uuid}/steps`, {
          ...query,
        })
      ).steps
    expect((await steps({})).map((one) => one.step)).toEqual([1, 2, 3])
    expect((await steps({ after: 1, limit: 1 })).map((one) => one.step)).toEqual([2])
    expect((await steps({}))[0]).toMatchObject({
      step: 1,
      inputTokens: 10,
      outputTokens: 2,
      attempts: 1,
      tools: [{ name: 'bash', outcome: 'ok', result: expect.stringContaining('hi') }],
    })
    expect((await steps({}))[2]).toMatchObject({ text: 'done', tools: [] })
  })

  test('agents, doctor and daemon return their views', async () => {
    await mkdir(join(daemon.work, '.reeve/agents'), { recursive: true })
    await writeFile(join(daemon.work, '.reeve/agents/helper.md'), '---\nname: helper\ndescription: helps\n---\nYou help.\n')
    await writeFile(join(daemon.work, '.reeve/agents/broken.md'), '---\nname: [\n---\n')
    const { agents, errors } = await daemon.client.get<{ agents: object[]; errors: object[] }>('/v1/agents', { cwd: daemon.work })
    expect(agents).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ name: 'helper', source: 'project' }),
        expect.objectContaining({ name: 'default', source: 'built-in' }),
      ]),
    )
    expect(JSON.stringify(agents)).not.toContain('You help.')
    expect(errors).toEqual([expect.objectContaining({ file: join(daemon.work, '.reeve/agents/broken.md') })])
    expect((await errorOf(daemon.client.get('/v1/agents', { cwd: 'relative' }))).code).toBe('INVALID')
    const { checks } = await daemon.client.get<{ checks: { name: string; ok: boolean; optional?: true }[] }>('/v1/doctor', { verify: true })
    // A machine without a delegated cgroup has no problem.
    expect(checks.filter((check) => !check.ok && !check.optional)).toEqual([])
    expect(checks.map((check) => check.name)).toEqual(
      expect.arrayContaining(['node', 'state directory', 'configuration', 'keys', 'git', 'model', 'agents', 'store', 'containment in use']),
    )
    expect(checks).toEqual(
      expect.arrayContaining([
        { name: 'git', ok: true, detail: expect.stringMatching(/^git version \d/) },
        { name: 'model', ok: false, optional: true, detail: 'no default model is set', hint: expect.stringContaining('defaultModel') },
        { name: 'agents', ok: true, detail: expect.stringContaining('claude') },
      ]),
    )
    const view = await daemon.client.get<Record<string, unknown>>('/v1/daemon')
    expect(view).toMatchObject({ version: 1, pid: process.pid, home: daemon.home, socket: daemon.paths.socket, processes: { max: 10_000 } })
    expect(view).toMatchObject({ load: { cores: expect.any(Number) }, disk: { storeBytes: expect.any(Number) } })
    const { load: _, memory: _memory, disk: _disk, osProcesses: _osProcesses, ...alone } = view
    const withoutFigures = await daemon.client.get<Record<string, unknown>>('/v1/daemon', { figures: '0' })
    expect(Object.keys(withoutFigures).toSorted()).toEqual(Object.keys(alone).toSorted())
  })
})

describe('doctor', () => {
  test('finds a configuration and keys that cannot be used', async () => {
    await writeFile(daemon.paths.credentialsFile, 'A_KEY: secret-value\n', { mode: 0o644 })
    await writeFile(daemon.paths.configFile, 'maxProcesses: many\n')
    try {
      const { checks } = await daemon.client.get<{ checks: { name: string; ok: boolean; detail: string; hint?: string }[] }>('/v1/doctor')
      expect(checks.filter(({ ok, name }) => !ok && !name.startsWith('containment '))).toEqual([
        {
          name: 'configuration',
          ok: false,
          detail: expect.stringContaining(`${daemon.paths.configFile}:1: maxProcesses`),
          hint: expect.stringContaining('correct'),
        },
        {
          name: 'keys',
          ok: false,
          detail: expect.stringContaining('other users can read it (mode 0644)'),
          hint: expect.stringContaining('correct'),
        },
      ])
      expect(JSON.stringify(checks)).not.toContain('secret-value')
    } finally {
      await rm(daemon.paths.credentialsFile)
      await rm(daemon.paths.configFile)
    }
  })
})

const PROCESS_VIEW = [
  'uuid',
  'pid',
  'ppid',
  'parentUuid',
  'name',
  'agent',
  'driver',
  'state',
  'status',
  'activity',
  'holds',
  'resumeAt',
  'intent',
  'cwd',
  'host',
  'containment',
  'createdAt',
  'startedAt',
  'pausedAt',
  'exitedAt',
  'elapsedMs',
  'exit',
  'stopping',
  'signals',
  'step',
  'turn',
  'originUuid',
  'originStep',
  'resumedFromStep',
  'checkpointStep',
  'model',
  'sessionId',
  'role',
  'phase',
  'taskId',
  'queueCount',
  'retiredAt',
  'updatedAt',
  'lastActivityAt',
  'usage',
  'subtreeUsage',
  'limits',
  'capabilities',
  'children',
  'pinned',
]
