// Makes the API document, OpenAPI 3.1, from the routes, the schemas of requests, and those of responses.ts.
// Loaded only when the document is requested, so that an idle daemon does not keep the library in memory. Test:
// test/e2e/daemon/openapi.test.ts.
import { createDocument, type ZodOpenApiOperationObject, type ZodOpenApiPathsObject, type ZodOpenApiResponseObject } from 'zod-openapi'
import { ERRORS, type ErrorCode } from '../../kernel/model/errors.ts'
import { VERSION } from '../../api/version.ts'
import { responseSchemas } from './responses.ts'
import { errorAnswer, eventAnswer } from './responses/daemon.ts'
import { idParams, refParams } from './schemas.ts'
import type { ApiRoute } from './route.ts'

/** Errors that every request may return. */
const COMMON_ERRORS: readonly ErrorCode[] = ['INVALID', 'FORBIDDEN', 'STORE_DAMAGED', 'DISK_FAILED', 'UNAVAILABLE', 'INTERNAL']
/** Further errors that every request with a reference to a process may return. */
const REF_ERRORS: readonly ErrorCode[] = ['NOT_FOUND', 'AMBIGUOUS', 'COLLECTED', 'PERMISSION']

const DESCRIPTION = `HTTP and JSON over the daemon's Unix socket, which is open to its owner alone; \`reeve daemon status\` names it.
A reference is a PID, an exact name, or the first or last digits (4 at least) of a UUID, tried in this order.
Fields may be added to answers; none is renamed or changes its meaning within version 1.`

/** Returns the whole document as JSON. */
export function openApiDocumentOf(routes: readonly ApiRoute[]): { openapi: string } {
  const paths: ZodOpenApiPathsObject = {}
  for (const route of routes) {
    const path = route.path.replace(/:(\w+)/g, '{$1}')
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: operationOf(route) }
  }
  return createDocument(
    {
      openapi: '3.1.0',
      info: { title: 'reeve', version: VERSION, description: DESCRIPTION, license: { name: 'MIT', identifier: 'MIT' } },
      servers: [{ url: 'http://reeve', description: 'Any host name works: requests go over the socket.' }],
      paths,
    },
    { override: allowNewFields },
  )
}

/** Lets response schemas allow further fields, because later versions of reeve may add some. */
function allowNewFields({
  jsonSchema,
  io,
}: {
  readonly jsonSchema: { additionalProperties?: unknown }
  readonly io: 'input' | 'output'
}): void {
  if (io === 'output' && jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties
}

function operationOf({
  id,
  path,
  summary,
  query,
  params,
  body,
  example,
  answer,
  stream,
  status,
  errors,
}: ApiRoute): ZodOpenApiOperationObject {
  const hasRef = path.includes(':ref')
  const codes = [...COMMON_ERRORS, ...(hasRef ? REF_ERRORS : []), ...errors]
  return {
    operationId: id,
    summary,
    requestParams: {
      ...(hasRef ? { path: (params ?? refParams) as typeof refParams } : path.includes(':id') ? { path: idParams } : {}),
      ...(query ? { query: query as typeof refParams } : {}),
    },
    ...(body
      ? { requestBody: { required: true, content: { 'application/json': { schema: body, ...(example ? { example } : {}) } } } }
      : {}),
    responses: {
      [`${status ?? 200}`]:
        answer === 'events'
          ? EVENTS_RESPONSE
          : {
              description: summary,
              content: {
                'application/json': { schema: responseSchemas[answer] },
                ...(stream ? { 'text/event-stream': { schema: responseSchemas[stream] } } : {}),
              },
            },
      ...errorResponses(codes),
    },
  }
}

const EVENTS_RESPONSE: ZodOpenApiResponseObject = {
  description: `Server-sent events. Each is one \`data:\` line with the event as JSON; \`id:\` is its cursor, \`event:\` its type. A comment comes at
least every 15 s. A broken connection is not the end: reconnect with the last cursor in \`Last-Event-ID\`, and no event is missed or repeated.`,
  content: {
    'text/event-stream': {
      schema: eventAnswer,
      example: 'id: 17\nevent: process.ready\ndata: {"version":1,"seq":17,"type":"process.ready","turn":1}\n\n',
    },
  },
}

/** The error responses, by HTTP status. */
function errorResponses(codes: readonly ErrorCode[]): Record<string, ZodOpenApiResponseObject> {
  const byStatus = Map.groupBy(new Set(codes), (code) => ERRORS[code].http)
  return Object.fromEntries(
    [...byStatus].map(([status, statusCodes]) => [
      `${status}`,
      {
        description: statusCodes.map((code) => `\`${code}\`: ${ERRORS[code].meaning}`).join(' '),
        content: { 'application/json': { schema: errorAnswer } },
      },
    ]),
  )
}
