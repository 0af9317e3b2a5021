// Random requests over every route of the API's document. The document describes each answer, none is an INTERNAL error, and the daemon
// survives. Requests have values that a schema allows, values that it forbids, and bodies that are not JSON.
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { once } from 'node:events'
import { join } from 'node:path'
import { Ajv2020 } from 'ajv/dist/2020.js'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { deep } from '../../support/deep.ts'
import { testEnv } from '../../support/env.ts'
import { LocalDaemon } from '../../support/daemon/local-daemon.ts'
import { requestFor, type FieldValues, type Operation, type RandomRequest } from '../../support/daemon/random-requests.ts'

/** the number of requests for each operation */
const REQUESTS = deep(8, 300)
/** This operation stops the daemon: test/e2e/daemon/openapi.test.ts tests it. */
const SKIPPED_OPERATION = 'stopDaemon'

interface Document {
  readonly paths: Record<string, Record<string, Operation>>
  readonly components: { readonly schemas: Record<string, object> }
}

let daemon: LocalDaemon
let document: Document
let fieldValues: FieldValues & { readonly ref: fc.Arbitrary<string> }

beforeAll(async () => {
  daemon = await LocalDaemon.start()
  document = await daemon.client.get<Document>('/v1/openapi.json')
  const model = await daemon.writeScript([{ text: 'done' }])
  const chat = await daemon.spawn({ model, interactive: true, name: 'chat' })
  const endedProcess = await daemon.spawnScripted([{ text: 'one' }], { name: 'ended' })
  await Promise.all([daemon.waitUntilReady(chat.uuid), daemon.waitForEnd(endedProcess.uuid)])
  fieldValues = {
    ref: fc.oneof(
      { weight: 3, arbitrary: fc.constantFrom('chat', 'ended', chat.uuid, endedProcess.uuid) },
      {
        weight: 1,
        arbitrary: fc.constantFrom(
          '0',
          '1',
          '2',
          '99999',
          '-1',
          'missing',
          '__proto__',
          'id:',
          '%',
          'a/b',
          'x'.repeat(199),
          endedProcess.uuid.slice(-8),
        ),
      },
    ),
    argv: fc.constantFrom(['true'], ['sh', '-c', 'exit 3'], ['/nowhere/program'], [''], [], ['a\0b']),
    command: fc.constantFrom(['true'], 'true', ''),
    cwd: fc.constantFrom(daemon.work, join(daemon.work, 'missing'), '/proc/self', 'relative', '/dev/null'),
    dir: fc.constantFrom(join(daemon.work, 'export'), join(daemon.work, 'missing', 'deeper'), '/proc/self', 'relative', '/dev/null', ''),
    model: fc.constantFrom(model, 'script:/nowhere.yaml', 'anthropic/claude', 'none', '', '__proto__/x', 'script:', 'replay:x'),
    env: fc.constant(testEnv(daemon.work)),
    timeoutMs: fc.constantFrom(0, 1, 20, -1, 'soon'),
    drainMs: fc.constantFrom(0, 1),
  }
})
afterAll(async () => {
  for (const { uuid, pid } of await livingProcesses()) if (pid > 0) await daemon.signal(uuid, 'SIGKILL').catch(() => undefined)
  await daemon[Symbol.asyncDispose]()
})

const livingProcesses = async (): Promise<{ uuid: string; pid: number }[]> =>
  (await daemon.client.get<{ processes: { uuid: string; pid: number }[] }>('/v1/processes')).processes

/** The answer's status and, if it is JSON, its body. A stream of events is closed as soon as it has begun. */
async function send(method: string, path: string, { query, body }: RandomRequest): Promise<{ status: number; body: unknown }> {
  const searchParams = new URLSearchParams(query.map(([name, value]): [string, string] => [name, value]))
  if (path.endsWith('/wait') && !searchParams.has('timeoutMs')) searchParams.set('timeoutMs', '1') // the default is a minute
  const request = httpRequest({
    socketPath: daemon.paths.socket,
    method,
    path: `${path}?${searchParams}`,
    headers: body === undefined ? {} : { 'content-type': 'application/json' },
  })
  request.on('error', () => undefined) // the daemon may close the connection before it has read all
  const responded = once(request, 'response') as Promise<[IncomingMessage]>
  request.end(body)
  const [response] = await responded
  const status = response.statusCode ?? 0
  if (response.headers['content-type']?.startsWith('text/event-stream') === true) {
    response.destroy()
    return { status, body: null }
  }
  return { status, body: JSON.parse((await response.toArray()).join('')) }
}

/** Returns a function that reports how an answer deviates from the document, or null. */
function makeAnswerValidator(): (operation: Operation, status: number, body: unknown) => string | null {
  const ajv = new Ajv2020({ strict: false, validateFormats: false })
  ajv.addSchema({ $id: 'document', components: document.components })
  const compiled = new Map<object, ReturnType<typeof ajv.compile>>()
  return (operation, status, body) => {
    const response = operation.responses[`${status}`]
    if (!response) return `status ${status} is not in the document`
    const schema = response.content?.['application/json']?.schema
    if (!schema || body === null) return null
    const validateBody =
      compiled.get(schema) ??
      ajv.compile(JSON.parse(JSON.stringify(schema).replaceAll('"#/components/', '"document#/components/')) as object)
    compiled.set(schema, validateBody)
    return validateBody(body) ? null : ajv.errorsText(validateBody.errors)
  }
}

test('the document describes all answers to random requests over all routes, and none is an internal error', async () => {
  const validate = makeAnswerValidator()
  const operations = Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({ path, method: method.toUpperCase(), operation })),
  )
  const seenStatuses = new Set<string>()
  for (const { path, method, operation } of operations) {
    if (operation.operationId === SKIPPED_OPERATION) continue
    await fc.assert(
      fc.asyncProperty(requestFor(operation, fieldValues), async (request) => {
        const { status, body } = await send(method, path.replace('{ref}', encodeURIComponent(request.ref)), request)
        seenStatuses.add(`${status}`)
        expect(status, JSON.stringify(body)).not.toBe(500)
        expect(validate(operation, status, body), `${operation.operationId}: ${JSON.stringify(body).slice(0, 500)}`).toBeNull()
      }),
      { numRuns: REQUESTS },
    )
    expect(daemon.errors, operation.operationId).toEqual([])
  }
  expect(({} as { polluted?: boolean }).polluted).toBeUndefined()
  expect([...seenStatuses]).toEqual(expect.arrayContaining(['200', '400', '404'])) // the requests reach all kinds of answers
  expect((await daemon.client.get<{ version: number }>('/v1/daemon')).version).toBe(1)
}, 300_000)
