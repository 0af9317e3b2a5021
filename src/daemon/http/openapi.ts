// The API's document: OpenAPI 3.1, made from the rows of routes.ts, the schemas that check requests, and those of answers.ts.
// Loaded when somebody asks for it: the library that makes it is not in an idle daemon. Test: test/e2e/openapi.test.ts.
import { createDocument, type ZodOpenApiOperationObject, type ZodOpenApiPathsObject, type ZodOpenApiResponseObject } from 'zod-openapi'
import { ERRORS, type ErrorCode } from '../../kernel/errors.ts'
import { VERSION } from '../version.ts'
import { answers, errorAnswer, eventAnswer } from './answers.ts'
import { refParams } from './schemas.ts'
import type { Route } from './route.ts'

/** Any request may be answered with these. */
const ALWAYS: readonly ErrorCode[] = ['INVALID', 'FORBIDDEN', 'STORE_DAMAGED', 'UNAVAILABLE', 'INTERNAL']
/** What comes of a reference. */
const OF_REF: readonly ErrorCode[] = ['NOT_FOUND', 'AMBIGUOUS', 'COLLECTED', 'PERMISSION']

const DESCRIPTION = `HTTP and JSON over the daemon's Unix socket, which is open to its owner alone; \`reeve daemon status\` names it.
A reference is a PID, an exact name, or the first or last digits (4 at least) of a UUID, tried in this order.
Fields may be added to answers; none is renamed or changes its meaning within version 1.`

/** `paths` and all else, as JSON. */
export function documentOf(routes: readonly Route[]): { openapi: string } {
  const paths: ZodOpenApiPathsObject = {}
  for (const route of routes) {
    const path = route.path.replace(/:(\w+)/g, '{$1}')
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: operationOf(route) }
  }
  return createDocument({
    openapi: '3.1.0',
    info: { title: 'reeve', version: VERSION, description: DESCRIPTION, license: { name: 'MIT', identifier: 'MIT' } },
    servers: [{ url: 'http://reeve', description: 'Any host name will do: requests go over the socket.' }],
    paths,
  }, { override: open }) as { openapi: string }
}

/** Readers must not refuse an answer for a field that is new. */
function open({ jsonSchema, io }: { readonly jsonSchema: { additionalProperties?: unknown }; readonly io: 'input' | 'output' }): void {
  if (io === 'output' && jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties
}

function operationOf({ id, path, summary, query, body, example, answer, status, errors }: Route): ZodOpenApiOperationObject {
  const hasRef = path.includes(':ref')
  const codes = [...ALWAYS, ...(hasRef ? OF_REF : []), ...errors]
  return {
    operationId: id, summary,
    requestParams: { ...(hasRef ? { path: refParams } : {}), ...(query ? { query: query as typeof refParams } : {}) },
    ...(body ? { requestBody: { required: true, content: { 'application/json': { schema: body, ...(example ? { example } : {}) } } } } : {}),
    responses: { [`${status ?? 200}`]: answer === 'events' ? EVENTS : { description: summary, content: { 'application/json': { schema: answers[answer] } } }, ...failures(codes) },
  }
}

const EVENTS: ZodOpenApiResponseObject = {
  description: `Server-sent events. Each is one \`data:\` line with the event as JSON; \`id:\` is its cursor, \`event:\` its type. A comment comes at
least every 15 s. A connection that breaks off is no end: come back with the last cursor in \`Last-Event-ID\`, and nothing is missed or seen twice.`,
  content: { 'text/event-stream': { schema: eventAnswer, example: 'id: 17\nevent: process.ready\ndata: {"version":1,"seq":17,"type":"process.ready","turn":1}\n\n' } },
}

function failures(codes: readonly ErrorCode[]): Record<string, ZodOpenApiResponseObject> {
  const byStatus = Map.groupBy(new Set(codes), (code) => ERRORS[code].http)
  return Object.fromEntries([...byStatus].map(([status, some]) => [`${status}`, {
    description: some.map((code) => `\`${code}\`: ${ERRORS[code].meaning}`).join(' '),
    content: { 'application/json': { schema: errorAnswer } },
  }]))
}
