// The API's document is sound OpenAPI 3.1, has every route, and describes the answers of a real daemon.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { NeedsView } from '../../../src/api/views/needs.ts'
import type { z } from 'zod'
import type { EventView } from '../../../src/api/views/daemon.ts'
import type { StepDetailView } from '../../../src/api/views/steps.ts'
import type { ProcessView } from '../../../src/api/views/process.ts'
import { responseSchemas } from '../../../src/daemon/http/responses.ts'
import { errorAnswer, eventAnswer } from '../../../src/daemon/http/responses/daemon.ts'
import { ROUTES } from '../../../src/daemon/http/routes.ts'
import { ERRORS } from '../../../src/kernel/model/errors.ts'
import { testEnv } from '../../support/env.ts'
import { Repository } from '../../support/git/repository.ts'
import { LocalDaemon } from '../../support/daemon/local-daemon.ts'

interface Media {
  schema?: object
  example?: unknown
}
interface Operation {
  operationId: string
  summary: string
  parameters?: { in: string; name: string; required?: boolean; schema: object }[]
  requestBody?: { content: Record<string, Media> }
  responses: Record<string, { description: string; content: Record<string, Media> }>
}
interface Document {
  openapi: string
  info: { title: string; version: string }
  paths: Record<string, Record<string, Operation>>
  components: { schemas: Record<string, object> }
}

let daemon: LocalDaemon
let document: Document
/** compiles the parts of the document, each once */
let ajv: Ajv2020

beforeAll(async () => {
  daemon = await LocalDaemon.start()
  document = await daemon.client.get<Document>('/v1/openapi.json')
  ajv = new Ajv2020({ strict: false, validateFormats: false, allErrors: true })
  ajv.addSchema({ $id: 'document', components: document.components })
})
afterAll(async () => {
  await daemon[Symbol.asyncDispose]()
  expect(daemon.errors).toEqual([])
})

const operations = (): { path: string; method: string; operation: Operation }[] =>
  Object.entries(document.paths).flatMap(([path, item]) => Object.entries(item).map(([method, operation]) => ({ path, method, operation })))

/** Makes a validator for a part of the document, as a reader of the document would. */
function makeChecker(schema: object): (value: unknown) => string | null {
  const validate = ajv.compile(JSON.parse(JSON.stringify(schema).replaceAll('"#/components/', '"document#/components/')) as object)
  return (value) => (validate(value) ? null : ajv.errorsText(validate.errors))
}

describe('the document', () => {
  test('has every route with a description, and no other', () => {
    expect(document.openapi).toBe('3.1.0')
    const rows = ROUTES.map(({ method, path, id, summary }) => [`${method} ${path.replaceAll(/:(\w+)/g, '{$1}')}`, id, summary])
    expect(
      operations()
        .map(({ path, method, operation }) => [`${method.toUpperCase()} ${path}`, operation.operationId, operation.summary])
        .toSorted(),
    ).toEqual(rows.toSorted())
    expect(new Set(ROUTES.map(({ id }) => id)).size).toBe(ROUTES.length)
    for (const { summary } of ROUTES) expect(summary).toMatch(/^[A-Z].*\.$/)
  })

  test('declares the parameters of each path, and describes each answer', () => {
    for (const { path, operation } of operations()) {
      const parameterNames = [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1])
      const inPath = (operation.parameters ?? []).filter((one) => one.in === 'path')
      expect(
        inPath.map(({ name, required }) => [name, required]),
        path,
      ).toEqual(parameterNames.map((name) => [name, true]))
      for (const [status, { description, content }] of Object.entries(operation.responses)) {
        expect(status).toMatch(/^[245]\d\d$/)
        expect(description).toMatch(/\S/)
        expect(
          Object.values(content).every(({ schema }) => schema !== undefined),
          `${path} ${status}`,
        ).toBe(true)
      }
      expect(Object.keys(operation.responses)).toEqual(expect.arrayContaining(['400', '403', '500', '503']))
    }
  })

  test('names the codes of every listed error, each under its status', () => {
    for (const { operation } of operations()) {
      for (const [status, { description }] of Object.entries(operation.responses)) {
        for (const [, code] of description.matchAll(/`([A-Z_]+)`:/g))
          expect([code, ERRORS[code as keyof typeof ERRORS].http]).toEqual([code, Number(status)])
      }
    }
  })

  test('has schemas that a validator accepts, with valid references and examples that match', () => {
    const refs = [...JSON.stringify(document).matchAll(/"\$ref":"([^"]+)"/g)].map((match) => match[1] ?? '')
    expect(new Set(refs)).toEqual(new Set(Object.keys(document.components.schemas).map((name) => `#/components/schemas/${name}`)))
    let examples = 0
    for (const { operation } of operations()) {
      for (const media of [operation.requestBody, ...Object.values(operation.responses)].flatMap((one) =>
        Object.values(one?.content ?? {}),
      )) {
        const check = makeChecker(media.schema ?? {})
        if (media.example === undefined || typeof media.example === 'string') continue
        expect(check(media.example), operation.operationId).toBeNull()
        examples += 1
      }
    }
    expect(examples).toBeGreaterThan(3)
  }, 300_000)

  test('allows fields of later versions', () => {
    expect(JSON.stringify(document.components)).not.toContain('"additionalProperties":false')
  })
})

describe("the daemon's answers", () => {
  /** Checks that nothing is missing and nothing is undocumented, by the schema and by the document. */
  function expectMatch(id: string, answer: unknown, schema: z.ZodType): void {
    expect(schema.parse(answer), id).toEqual(answer)
    const { operation } = operations().find((one) => one.operation.operationId === id) ?? {}
    const success = Object.entries(operation?.responses ?? {}).find(([status]) => status.startsWith('2'))?.[1]
    const [media] = Object.values(success?.content ?? {})
    expect(makeChecker(media?.schema ?? { not: {} })(answer), id).toBeNull()
  }

  const calledIds = new Set<string>()
  async function callRoute(
    id: string,
    ref: string,
    request: { query?: Record<string, string | number>; body?: object; path?: string } = {},
  ): Promise<unknown> {
    const route = ROUTES.find((one) => one.id === id)
    if (!route || route.answer === 'events') throw new Error(`${id} is no route of answers`)
    const path = request.path ?? route.path.replace(/:\w+/, ref)
    const { client } = daemon
    const callByMethod = {
      GET: () => client.get(path, request.query),
      POST: () => client.post(path, request.body ?? {}),
      DELETE: () => client.delete(`${path}?${new URLSearchParams(request.query as Record<string, string> | undefined)}`),
    }
    const answer: unknown = await callByMethod[route.method]()
    expectMatch(id, answer, responseSchemas[route.answer])
    calledIds.add(id)
    return answer
  }

  async function follow(id: string, path: string): Promise<void> {
    const events: EventView[] = []
    for await (const event of daemon.client.events(path, { query: { after: 0 } })) events.push(event)
    expect(events.length).toBeGreaterThan(5)
    for (const event of events) expectMatch(id, event, eventAnswer)
    calledIds.add(id)
  }

  test('match the document on every route', async () => {
    const script = await daemon.writeScript([
      { text: 'I look.', tools: [{ name: 'bash', input: { command: 'echo found' } }] },
      { text: 'Done.' },
    ])
    const body = {
      cwd: daemon.work,
      env: testEnv(daemon.work),
      intent: 'look',
      model: script,
      name: 'walker',
      interactive: true,
      limits: { maxSteps: 9 },
    }
    const {
      process: { uuid },
    } = (await callRoute('spawnProcess', '', { body })) as { process: ProcessView }
    await callRoute('waitForProcess', uuid, { query: { for: 'ready' } })
    await callRoute('pauseProcess', 'walker', { body: { subtree: true } })
    await callRoute('listProcesses', '')
    await callRoute('resumeProcess', uuid)
    await callRoute('sendMessage', uuid, { body: { text: 'and?' } })
    await callRoute('getProcess', uuid)
    await callRoute('setSignals', uuid, { body: { handlers: { SIGINT: 'ignore' }, block: ['SIGPAUSE', 5], unblock: ['SIGRESUME'] } })
    await callRoute('signalProcess', uuid, { body: { signal: 'SIGPAUSE' } })
    await callRoute('getSignals', uuid)
    await callRoute('getStakes', uuid, { query: { action: 'kill', subtree: 1 } })
    await callRoute('signalProcess', uuid, { body: { signal: 'SIGKILL' } })
    await callRoute('waitForProcess', uuid)
    await callRoute('listProcesses', '', { query: { all: 1 } })
    await callRoute('listProcesses', '', { query: { all: 1, fields: 'pid,name,usage.costUsd' } })
    await callRoute('listResumable', '', { query: { limit: 10 } })
    await callRoute('getLineage', uuid)
    await callRoute('getSteps', uuid)
    await callRoute('getSteps', uuid, { query: { brief: 1 } })
    const { step } = (await callRoute('getSteps', uuid, { query: { at: 1 } })) as { step: StepDetailView }
    await callRoute('getStepPart', uuid, { path: `/v1/processes/${uuid}/steps/1/tools/${step.tools[0]?.callId}` })
    await callRoute('getLogs', uuid)
    await callRoute('getUsage', '', { query: { by: 'tree' } })
    await callRoute('getUsageRate', '')
    await callRoute('getContext', uuid, { query: { text: 1 } })
    await callRoute('compareProcesses', '', { query: { a: uuid, b: uuid } })
    await callRoute('getSpans', uuid, { query: { subtree: 1 } })
    await callRoute('listPlaces', '')
    await callRoute('batch', '', { body: { verb: 'pin', refs: [uuid, 'nobody'] } })
    await callRoute('batch', '', { body: { verb: 'unpin', refs: [uuid] } })
    await callRoute('searchTranscripts', '', { query: { text: 'and', ignoreCase: 1 } })
    await follow('followProcess', `/v1/processes/${uuid}/events`)
    await follow('followEvents', '/v1/events')
    await callRoute('snoozeProcess', uuid, { body: { until: null } })
    await callRoute('markSeen', uuid)
    await callRoute('pinProcess', uuid, { body: { pinned: true } })
    await callRoute('exportProcess', uuid, { body: { dir: join(daemon.work, 'out') } })
    await callRoute('pinProcess', uuid, { body: { pinned: false } })
    await callRoute('renameProcess', uuid, { body: { name: 'other' } })
    await callRoute('labelProcess', uuid, { body: { labels: { team: 'web', draft: null } } })
    await callRoute('removeProcess', uuid)
    const supervisorBody = {
      cwd: daemon.work,
      name: 'children',
      restart: 'no',
      supervisor: {
        strategy: 'one_for_one',
        children: [{ childId: 'a', argv: ['sleep', '600'], restart: { type: 'always', maxRestarts: 1 } }],
      },
    }
    await callRoute('spawnProcess', '', { body: supervisorBody })
    await callRoute('removeChild', 'children', { query: { id: 'a' } })
    await callRoute('signalProcess', 'children', { body: { signal: 'SIGKILL' } })
    const idleModel = await daemon.writeScript([{ text: 'I wait.' }])
    const repository = Repository.make(join(daemon.work, 'repository'), daemon.work)
    repository.commit({ 'a.txt': 'a' })
    await daemon.waitForEnd((await daemon.spawnShell('echo b > b.txt', { cwd: repository.dir, worktree: true, name: 'treed' })).uuid)
    const { needs } = (await callRoute('listNeeds', '', { query: { all: 1, under: 'treed' } })) as NeedsView
    await callRoute('getNeed', needs[0]?.id ?? '')
    await callRoute('getDiff', 'treed')
    await callRoute('getFiles', 'treed')
    const onto = { onto: repository.git('rev-parse', 'HEAD'), repository: join(repository.dir, '.git'), top: repository.dir }
    await callRoute('planMerge', 'treed', { query: onto })
    await callRoute('commitWork', 'treed', { body: { author: { name: 'Ann', email: 'ann@example.org' } } })
    await callRoute('openMcpSession', '', { body: { cwd: daemon.work } })
    await callRoute('planCrew', '', {
      body: {
        cwd: daemon.work,
        env: testEnv(daemon.work),
        name: 'crew',
        workers: 1,
        model: idleModel,
        worktrees: false,
        reviews: false,
        stay: true,
        tasks: [{ id: 'one', text: 'Look.', acceptance: 'It was seen.' }],
      },
    })
    await callRoute('startCrew', '', {
      body: {
        cwd: daemon.work,
        env: testEnv(daemon.work),
        name: 'crew',
        workers: 1,
        model: idleModel,
        worktrees: false,
        reviews: false,
        stay: true,
        tasks: [{ id: 'one', text: 'Look.', acceptance: 'It was seen.' }],
      },
    })
    await callRoute('listCrews', '')
    await callRoute('getCrew', 'crew')
    await callRoute('getCrewTask', 'crew', { query: { id: 'one' } })
    await callRoute('getCrewDiff', 'crew', { query: { task: 'one' } })
    await callRoute('getCrewReport', 'crew')
    await callRoute('tellCrew', 'crew', { body: { type: 'complete_crew', outcome: 'cancelled', summary: 'enough' } })
    await callRoute('waitForProcess', 'crew')
    await callRoute('getCrewReport', 'crew')
    writeFileSync(
      join(daemon.work, 'reeve.yaml'),
      'agents: { one: { command: [echo, hello] }, two: { command: [sh, -c, exit 3], depends_on: [one] } }',
    )
    await callRoute('composePlan', '', { body: { cwd: daemon.work } })
    await callRoute('composeUp', '', { body: { cwd: daemon.work, env: testEnv(daemon.work), name: 'dag' } })
    await callRoute('listRuns', '')
    await callRoute('waitForProcess', 'dag')
    await callRoute('getRun', 'dag')
    await callRoute('resumeNode', 'dag', { body: { node: 'two', env: testEnv(daemon.work) } })
    await callRoute('waitForProcess', 'dag')
    await callRoute('importProcesses', '', { body: { dir: join(daemon.work, 'out') } })
    await callRoute('previewCollection', '')
    await callRoute('collect', '')
    await callRoute('listAgents', '', { query: { cwd: daemon.work } })
    await callRoute('listRoles', '', { query: { cwd: daemon.work } })
    await callRoute('getDaemon', '')
    await callRoute('getRows', '')
    await callRoute('getHeartbeat', '')
    await callRoute('examine', '', { query: { verify: 1 } })
    await callRoute('listModels', '', { body: { provider: 'vllm' } })
    await callRoute('checkModels', '', { body: {} })
    const { link } = (await callRoute('openWeb', '', { body: { right: 'read', label: 'test' } })) as { link: string }
    await callRoute('waitForWebLink', link, { query: { timeoutMs: 0 } })
    await callRoute('getWeb', '')
    await callRoute('revokeWebSessions', '')
    await callRoute('stopWeb', '')
    // These need a browser's session: test/e2e/web/access/listener.test.ts.
    calledIds.add('startWebSession').add('proveToWebSession').add('revokeWebSession')
    await callRoute('getDocument', '')
    await callRoute('stopDaemon', '')
    // An answer needs an agent with a question: test/e2e/external/questions.test.ts.
    calledIds.add('answerProcess').add('withdrawAnswer')
    expect([...calledIds].toSorted()).toEqual(ROUTES.map(({ id }) => id).toSorted())
    await daemon.stop()
    await daemon.start()
  }, 300_000)

  test.each([
    ['GET', '/v1/processes/nobody', 404],
    ['GET', '/v1/nothing', 404],
    ['GET', '/v1/processes?limit=x', 400],
    ['DELETE', '/v1/processes/0', 403],
    ['POST', '/v1/processes', 403],
  ])('to %s %s is an error of the described form', async (method, path, status) => {
    const answer = await daemon.sendRaw({ method, path })
    expect(answer.status).toBe(status)
    expect(errorAnswer.parse(answer.body)).toEqual(answer.body)
  })
})
