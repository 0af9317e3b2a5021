// What a session may request on a route that it may use: its subtree, the closed fields of bodies, and a batch. Also the rows that a
// session gets, and what a redacted session reads.
import { mkdir, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { Pass } from '../../../../src/daemon/web/pass.ts'
import { rowsOfSession } from '../../../../src/daemon/web/rows-of-session.ts'
import { tempDir } from '../../../support/tmp.ts'
import { makeAskView } from '../../../support/daemon/ask-view.ts'
import { redact } from '../../../../src/daemon/web/redact.ts'
import { BATCH_RIGHTS, restrictToSession } from '../../../../src/daemon/web/restrict.ts'
import { batchBody } from '../../../../src/daemon/http/batch-route.ts'
import { ROUTES } from '../../../../src/daemon/http/routes.ts'
import { WEB_RIGHTS } from '../../../../src/kernel/model/words.ts'
import { KernelError } from '../../../../src/kernel/model/errors.ts'
import type { Process } from '../../../../src/kernel/model/process.ts'

/** root ← child ← grandchild, and a process beside them */
const TREE: Readonly<Record<string, string | null>> = { root: null, child: 'root', grandchild: 'child', other: null }
const processOf = (uuid: string): Process =>
  ({ uuid, parentUuid: TREE[uuid] ?? null, spec: { name: null }, life: { state: 'dead' } }) as unknown as Process

const reads = {
  find: async (uuid: string) => (uuid in TREE ? processOf(uuid) : undefined),
  resolve: async (ref: string) => {
    if (!(ref in TREE)) throw new KernelError('AMBIGUOUS', 'several')
    return processOf(ref)
  },
  list: async () => [{ directory: '/src/app' }],
}

const needs = { below: (top: string) => ({ top }) } as never
const annotations = { asClient: (via: string) => ({ via }) } as never
const feed = { subscribe: () => [] } as never
const operations = { asClient: (via: string, trustsNames: boolean) => ({ via, trustsNames }) as never }

function restrict(
  routeId: string,
  body: object,
  {
    ref = '',
    query,
    openings = [],
    reads: ownReads = reads,
    ...session
  }: { ref?: string; query?: object; openings?: Pass['openings']; reads?: object } & Partial<NonNullable<Pass['session']>> = {},
): ReturnType<typeof restrictToSession> {
  const grant = {
    id: '7f3a',
    right: 'all',
    only: null,
    redact: false,
    ttlMs: null,
    label: null,
    way: 'loopback',
    remembered: false,
    ...session,
  } as const
  return restrictToSession(
    { session: grant, way: 'loopback', routeId, openings },
    { id: routeId, ref, query },
    { deps: { reads: ownReads as never, operations, annotations, feed, needs }, body: body as Readonly<Record<string, unknown>> },
  )
}

const codeOf = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => 'passes',
    (error: unknown) => (error as KernelError).code,
  )

describe('the fields of a body', () => {
  const spawn = { cwd: '/src/app', intent: 'work' }
  test.each([
    ['spawnProcess', spawn, 'commands', true],
    ['spawnProcess', { ...spawn, agent: 'coder', limits: {}, labels: { argv: 'x' }, permissions: 'ask' }, 'commands', true],
    ['spawnProcess', { ...spawn, argv: ['sh'] }, 'commands', false],
    ['spawnProcess', { ...spawn, input: 'x' }, 'commands', false],
    ['spawnProcess', { ...spawn, supervisor: { children: [{ argv: ['sh'] }] } }, 'commands', false],
    ['spawnProcess', { ...spawn, allow: ['bash'] }, 'commands', false],
    ['spawnProcess', { ...spawn, containment: 'group' }, 'commands', false],
    ['spawnProcess', { ...spawn, model: 'script:/tmp/x.yaml' }, 'commands', false],
    ['spawnProcess', { ...spawn, fallback: ['a/b', 'replay:x'] }, 'commands', false],
    ['spawnProcess', { ...spawn, env: { PATH: '/tmp' } }, 'environment', false],
    ['spawnProcess', { ...spawn, cwd: '/src/app/node_modules/evil' }, 'commands', false],
    ['spawnProcess', { ...spawn, cwd: '/src/application' }, 'commands', false],
    ['spawnProcess', { ...spawn, cwd: '/src/app/../other' }, 'commands', false],
    ['spawnProcess', { ...spawn, cwd: '/tmp' }, 'commands', false],
    ['resumeProcess', { message: 'go on', limits: { budgetUsd: 2 } }, 'commands', true],
    ['resumeProcess', { env: {} }, 'environment', false],
    ['resumeProcess', { cwd: '/tmp' }, 'commands', false],
    ['resumeProcess', { allow: ['bash'] }, 'commands', false],
    ['resumeProcess', { model: 'script:/tmp/x.yaml' }, 'commands', false],
    ['tellCrew', { type: 'add_task', text: 'x' }, 'commands', true],
    ['tellCrew', { type: 'add_task', text: 'x', verify: 'make' }, 'commands', false],
    ['tellCrew', { type: 'add_task', text: 'x', agent: 'evil' }, 'commands', false],
    ['tellCrew', { type: 'edit_task', task: 'x', model: 'script:/tmp/x.yaml' }, 'commands', false],
    ['listModels', { env: {} }, 'environment', false],
    ['startCrew', { cwd: '/src/app', env: {} }, 'environment', false],
    ['planCrew', { cwd: '/src/app', env: {} }, 'environment', false],
    ['composeUp', { cwd: '/src/app', env: {} }, 'environment', false],
    ['composePlan', { cwd: '/src/app', env: {} }, 'environment', false],
    ['openMcpSession', { cwd: '/src/app', env: {} }, 'environment', false],
    ['resumeNode', { node: 'x', env: {} }, 'environment', false],
  ] as const)('of %s: %j passes with the opening `%s`; without it: %s', async (id, body, opening, isOpen) => {
    expect(await codeOf(restrict(id, body))).toBe(isOpen ? 'passes' : 'PERMISSION')
    expect(await codeOf(restrict(id, body, { openings: [opening] }))).toBe('passes')
  })

  test('a link to a directory where no process has worked is refused', async () => {
    await using temp = await tempDir()
    await mkdir(join(temp.path, 'known'))
    await mkdir(join(temp.path, 'evil'))
    await symlink(join(temp.path, 'evil'), join(temp.path, 'known', 'link'))
    const worked = { ...reads, list: async () => [{ directory: join(temp.path, 'known') }] }
    const start = (cwd: string): Promise<unknown> => codeOf(restrict('spawnProcess', { cwd, intent: 'x' }, { reads: worked }))
    expect(await start(join(temp.path, 'known'))).toBe('passes')
    expect(await start(join(temp.path, 'known', 'link'))).toBe('PERMISSION')
  })

  test('a name of an agent from the page is not trusted, unless commands are open', async () => {
    const named = async (openings: Pass['openings']): Promise<unknown> =>
      (await restrict('spawnProcess', spawn, { openings })).deps.operations
    expect(await named([])).toMatchObject({ trustsNames: false })
    expect(await named(['commands'])).toMatchObject({ trustsNames: true })
  })

  test('handlers get the name of the session', async () => {
    expect((await restrict('tellCrew', { type: 'retry_task', task: 'x' })).deps).toMatchObject({ via: 'web:7f3a' })
  })

  test('a fork needs the right to start', async () => {
    expect(await codeOf(restrict('resumeProcess', { fork: true }, { right: 'steer' }))).toBe('PERMISSION')
    expect(await codeOf(restrict('resumeProcess', { fork: true }, { right: 'start' }))).toBe('passes')
    expect(await codeOf(restrict('resumeProcess', {}, { right: 'steer' }))).toBe('passes')
  })

  test.each([
    ['resumeNode', { node: 'x' }, 'steer'],
    ['resumeNode', { node: 'x', fork: true }, 'start'],
    ['tellCrew', { type: 'assign_task', task: 'x', member: 'worker-1' }, 'steer'],
    ['tellCrew', { type: 'add_task', text: 'x' }, 'steer'],
    ['tellCrew', { type: 'add_task', text: 'x', model: 'a/b' }, 'start'],
    ['tellCrew', { type: 'add_task', text: 'x', agent: 'coder' }, 'start'],
    ['tellCrew', { type: 'edit_task', task: 'x', model: null }, 'start'],
    ['tellCrew', { type: 'edit_task', task: 'x', agent: 'coder' }, 'start'],
    ['tellCrew', { type: 'spawn_worker', role: 'implementer' }, 'start'],
  ] as const)('of %s: %j needs the right `%s`', async (id, body, needed) => {
    for (const right of ['steer', 'start'] as const)
      expect(await codeOf(restrict(id, body, { right, openings: ['commands'] }))).toBe(
        right === 'start' || needed === 'steer' ? 'passes' : 'PERMISSION',
      )
  })

  test('a removal at the end needs the right `all`, like the removal itself', async () => {
    const body = { ...spawn, removeAtEnd: true }
    expect(await codeOf(restrict('spawnProcess', body, { right: 'start' }))).toBe('PERMISSION')
    expect(await codeOf(restrict('spawnProcess', { ...body, removeAtEnd: false }, { right: 'start' }))).toBe('passes')
    expect(await codeOf(restrict('spawnProcess', body, { right: 'all' }))).toBe('passes')
  })

  test.each(['listAgents', 'listRoles'])(
    '%s reads no directory where no process has worked, and no path that the page gives',
    async (id) => {
      expect(await codeOf(restrict(id, {}, { query: { cwd: '/src/app' } }))).toBe('passes')
      expect(await codeOf(restrict(id, {}, { query: { cwd: '/src/app/node_modules/evil' } }))).toBe('PERMISSION')
      expect(await codeOf(restrict(id, {}, { query: { cwd: '/src/app', path: '/tmp' } }))).toBe('PERMISSION')
      expect(await codeOf(restrict(id, {}, { query: { cwd: '/tmp' }, openings: ['commands'] }))).toBe('passes')
    },
  )
})

describe('a batch', () => {
  test.each([
    ['pause', 'pauseProcess'],
    ['resume', 'resumeProcess'],
    ['stop', 'signalProcess'],
    ['kill', 'signalProcess'],
    ['send', 'sendMessage'],
    ['pin', 'pinProcess'],
    ['unpin', 'pinProcess'],
    ['remove', 'removeProcess'],
  ] as const)('with `%s` needs the right of the route %s, and no more', async (verb, routeId) => {
    const needed = ROUTES.find(({ id }) => id === routeId)?.right
    for (const right of WEB_RIGHTS)
      expect(await codeOf(restrict('batch', { verb, refs: ['root'] }, { right }))).toBe(
        WEB_RIGHTS.indexOf(right) >= WEB_RIGHTS.indexOf(needed as never) ? 'passes' : 'PERMISSION',
      )
    // The access check admits no session with less than the right of the route `batch`, so no verb may need less.
    expect(WEB_RIGHTS.indexOf(ROUTES.find(({ id }) => id === 'batch')?.right as never)).toBeLessThanOrEqual(
      WEB_RIGHTS.indexOf(needed as never),
    )
  })

  test('has a right for each of its verbs; any other word needs the right `all`', async () => {
    expect(Object.keys(BATCH_RIGHTS).toSorted()).toEqual([...batchBody.shape.verb.options].toSorted())
    expect(await codeOf(restrict('batch', { verb: 'toString' }, { right: 'start' }))).toBe('PERMISSION')
    expect(await codeOf(restrict('batch', {}, { right: 'start' }))).toBe('PERMISSION')
  })
})

describe('a session for a subtree', () => {
  test.each([
    ['root', 'passes'],
    ['child', 'passes'],
    ['grandchild', 'passes'],
    ['other', 'NOT_FOUND'],
    ['missing', 'NOT_FOUND'],
  ])('reads the process `%s`: %s', async (ref, code) => {
    expect(await codeOf(restrict('getProcess', {}, { ref, only: 'root' }))).toBe(code)
  })

  test.each([
    ['recent', 'subtree:root'],
    ['all', 'subtree:root'],
    ['subtree:child', 'subtree:child'],
    ['subtree:other', 'NOT_FOUND'],
    ['subtree:missing', 'NOT_FOUND'],
  ])('reads the rows of `%s`: %s', async (scope, result) => {
    const restricted = restrict('getRows', {}, { only: 'root', query: { scope, shape: 'columns', after: 'e-0' } })
    const [code, query] = [await codeOf(restricted), await restricted.then((one) => one.query).catch(() => null)]
    expect(code === 'passes' ? query : code).toEqual(code === 'passes' ? { scope: result, shape: 'columns' } : result)
  })

  test.each([
    [undefined, 'passes'],
    ['child', 'passes'],
    ['other', 'NOT_FOUND'],
    ['missing', 'NOT_FOUND'],
  ])('lists its own needs, below %s: %s', async (under, code) => {
    const restricted = restrict('listNeeds', {}, { only: 'root', query: under === undefined ? {} : { under } })
    expect(await codeOf(restricted)).toBe(code)
    if (code === 'passes') expect((await restricted).deps).toMatchObject({ needs: { top: 'root' } })
  })

  test('cannot compare with another process', async () => {
    const only = { ref: 'child', only: 'root' }
    expect(await codeOf(restrict('getDiff', {}, { ...only, query: { from: '1', to: 'now' } }))).toBe('passes')
    expect(await codeOf(restrict('getDiff', {}, { ...only, query: { from: '1', to: 'other@3' } }))).toBe('PERMISSION')
    expect(await codeOf(restrict('getFiles', {}, { ...only, query: { from: 'other@3' } }))).toBe('PERMISSION')
  })

  test('lists only the processes of its subtree', async () => {
    const { adapt } = await restrict('listProcesses', {}, { only: 'child' })
    expect(await adapt({ version: 1, processes: [...Object.keys(TREE).map((uuid) => ({ uuid })), { name: 'without UUID' }] })).toEqual({
      version: 1,
      processes: [{ uuid: 'child' }, { uuid: 'grandchild' }],
    })
  })
})

test('a pass for another route passes nothing', async () => {
  const pass: Pass = { session: null, way: 'loopback', routeId: 'startWebSession', openings: [] }
  const request = { deps: { reads: reads as never, operations, annotations, feed, needs }, body: {} }
  expect(await codeOf(restrictToSession(pass, { id: 'spawnProcess', ref: '', query: {} }, request))).toBe('FORBIDDEN')
  expect(await codeOf(restrictToSession(pass, { id: 'startWebSession', ref: '', query: {} }, request))).toBe('passes')
})

test('rows have no sums of other processes, and for a redacted session no inputs and no fields without a rule', () => {
  const row = {
    uuid: 'root',
    why: { kind: 'ask', text: 'SECRET' },
    doing: { name: 'bash', input: 'SECRET' },
    note: 'SECRET',
    step: 3,
    exit: { code: 1, error: 'SECRET' },
    fieldWithoutRule: 'SECRET',
  }
  const bodies = [
    { rows: [row] },
    { up: [row] },
    { columns: Object.fromEntries(Object.entries(row).map(([field, value]) => [field, [value]])) },
  ]
  for (const body of bodies) {
    const needs = [{ title: 'SECRET', ask: null, task: null, options: [], evidence: { error: 'SECRET' }, fieldWithoutRule: 'SECRET' }]
    const whole = { ...body, needs, sums: { todayUsd: 7 } } as unknown as Parameters<typeof rowsOfSession>[0]
    const texts = [
      { only: null, redact: true },
      { only: 'root', redact: false },
      { only: 'root', redact: true },
    ].map((session) => JSON.stringify(rowsOfSession(whole, session)))
    expect(texts.map((text) => [text.includes('todayUsd'), text.includes('SECRET'), text.includes('3')])).toEqual([
      [true, false, true],
      [false, true, true],
      [false, false, true],
    ])
  }
})

test('a redacted answer has no inputs, results, output or questions, and no fields without a rule', () => {
  const secret = 'SECRET'
  const ask = {
    ...makeAskView(),
    text: secret,
    options: [{ id: 'a', name: `Always allow ${secret}`, kind: 'allow_always' }],
    tool: { name: 'edit', kind: 'edit', input: { path: secret }, cut: false, locations: [secret] },
    diff: [{ path: secret, old: secret, new: secret, oldKnown: true, equalBefore: 0, equalAfter: 0, cut: 0 }],
    fieldWithoutRule: secret,
  }
  const process = {
    asks: [ask],
    why: { kind: 'ask', text: secret },
    doing: { what: 'tool', name: 'bash', input: secret },
    note: secret,
    exit: { code: 1, reason: 'crash', error: secret },
    pendingRestart: { attempt: 1, cause: secret, at: null },
    liveness: { word: 'silent', since: '', evidence: secret },
    fieldWithoutRule: secret,
    name: 'kept',
  }
  const tool = { callId: '1', name: 'bash', input: { command: secret }, result: secret, outcome: 'ok', exitCode: 0, durationMs: 1 }
  const need = {
    ...{ uuid: 'u', title: secret, ask, hold: null, commands: [`reeve answer 1 ${secret}`], fieldWithoutRule: secret },
    task: { id: 't', title: secret },
    options: ask.options,
    evidence: { note: secret, message: 'kept', error: secret, report: secret, text: secret, change: { text: secret } },
  }
  const answers = [
    redact('listNeeds', { version: 1, needs: [need] }),
    redact('getNeed', { version: 1, need }),
    redact('getProcess', { version: 1, process }),
    redact('waitForProcess', { version: 1, process, timedOut: false }),
    redact('listProcesses', { version: 1, processes: [process] }),
    redact('getSteps', { version: 1, steps: [{ step: 1, text: 'kept', tools: [tool], notes: [secret], fieldWithoutRule: secret }] }),
    redact('getSteps', {
      version: 1,
      step: {
        text: 'kept',
        tools: [tool],
        notes: [secret],
        reasoning: secret,
        calls: [{ at: '', model: 'a/b', error: secret }],
        asks: [{ id: '1', text: secret, answer: 'yes' }],
        compaction: { before: 2, after: 1, summary: secret },
        fieldWithoutRule: secret,
      },
    }),
    redact('getSteps', { version: 1, total: 1, columns: { text: ['kept'] } }),
    redact('getLogs', {
      version: 1,
      lines: [
        { stream: 'tool', text: secret },
        { stream: 'stdout', text: secret },
        { stream: 'stderr', text: secret },
        { stream: 'system', text: `asks: ${secret}` },
        { stream: 'assistant', text: 'kept' },
      ],
    }),
  ]
  for (const answer of answers) {
    expect(JSON.stringify(answer)).not.toContain(secret)
    expect(JSON.stringify(answer)).toContain('kept')
  }
})

test('a redacted session cannot find out by a search whether hidden lines have a text', async () => {
  expect(await codeOf(restrict('getLogs', {}, { ref: 'root', query: { match: 'secret' }, redact: true }))).toBe('PERMISSION')
  expect(await codeOf(restrict('getLogs', {}, { ref: 'root', query: { tail: 5 }, redact: true }))).toBe('passes')
  expect(await codeOf(restrict('getLogs', {}, { ref: 'root', query: { match: 'secret' } }))).toBe('passes')
})
