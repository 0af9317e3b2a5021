// The API server: HTTP and JSON over a Unix socket of mode 0600. Validates requests by their schemas, refuses browsers, and writes the
// bodies of errors. Test: test/e2e/daemon/api.test.ts.
import { chmod, rm } from 'node:fs/promises'
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import type { z } from 'zod'
import { BUILD, BUILD_HEADER } from '../../api/build.ts'
import { issueText } from '../../config/zod-messages.ts'
import { ERRORS, KernelError } from '../../kernel/model/errors.ts'
import { compressAnswer } from './compress.ts'
import { errorBody } from './error-body.ts'
import { passOf } from '../web/pass.ts'

/** The longest value in a path, such as the id of a tool call, in characters. */
const MAX_PARAM_CHARS = 1_000
/** The largest body of a request in bytes: room for an environment and an input. JSON may need six bytes for each byte of an input. */
const MAX_BODY = 8 * 1024 * 1024
const JSON_TYPE = /^application\/json\s*(;|$)/i

export interface ApiServer {
  readonly app: FastifyInstance
  listen(socket: string): Promise<void>
  close(): Promise<void>
}

export interface ApiServerDeps {
  readonly log: (message: string, error: unknown) => void
  /** called with method and URL when a request arrives */
  readonly recordStart: (what: string) => void
}

export function createServer({ log, recordStart }: ApiServerDeps): ApiServer {
  const answerError = async (error: unknown, _request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    const known = toKernelError(error)
    if (known.code === 'INTERNAL') log('request failed', error)
    await reply.status(ERRORS[known.code].http).send(errorBody(known))
  }
  const app = Fastify({
    logger: false,
    bodyLimit: MAX_BODY,
    forceCloseConnections: true,
    exposeHeadRoutes: false,
    routerOptions: { maxParamLength: MAX_PARAM_CHARS },
    frameworkErrors: (error, request, reply) => {
      answerError(error, request, reply).catch((failure: unknown) => {
        log('an error could not be answered', failure)
      })
    },
  })
  app.removeContentTypeParser('text/plain')
  app.setValidatorCompiler(({ schema }) => (data) => {
    const parsed = (schema as z.ZodType).safeParse(data ?? {})
    return parsed.success ? { value: parsed.data } : { error: new KernelError('INVALID', problemText(parsed.error)) }
  })
  app.setSerializerCompiler(() => (data) => JSON.stringify(data))
  app.addHook('onRequest', async (request, reply) => {
    // Set on the raw response, because streams do not use fastify's reply.
    if (BUILD) reply.raw.setHeader(BUILD_HEADER, BUILD)
    recordStart(`${request.method} ${request.url}`)
    // For a request over TCP, web/access-check.ts has already applied stricter rules.
    if (!passOf(request.raw)) refuseBrowsers(request)
  })
  app.addHook('onSend', async ({ raw }, reply, payload) => {
    const compressed = await compressAnswer(raw, payload)
    if (compressed === null) return payload
    reply.headers(compressed.headers)
    return compressed.body
  })
  app.setErrorHandler(answerError)
  app.setNotFoundHandler(async (request, reply) => {
    await reply
      .status(404)
      .send(
        errorBody(
          new KernelError('INVALID', `there is no ${request.method} ${request.url}`, undefined, 'GET /v1/openapi.json lists all paths.'),
        ),
      )
  })
  return { app, listen: (socket) => listen(app, socket), close: () => app.close() }
}

/**
 * Listens on the socket. No other user can reach it before its mode is set, because the directory has mode 0700. The umask must not be
 * changed for this: agents inherit it.
 */
async function listen(app: FastifyInstance, socket: string): Promise<void> {
  await rm(socket, { force: true })
  await app.listen({ path: socket })
  await chmod(socket, 0o600)
}

/**
 * Refuses requests of browsers, which send an Origin header. A page cannot send JSON without a preflight request, which is refused, too.
 */
function refuseBrowsers({ method, headers }: FastifyRequest): void {
  if (headers.origin !== undefined) throw new KernelError('FORBIDDEN', 'requests with an Origin are refused')
  if (method === 'POST' && !JSON_TYPE.test(headers['content-type'] ?? ''))
    throw new KernelError('FORBIDDEN', 'the content type must be application/json')
}

function toKernelError(error: unknown): KernelError {
  if (error instanceof KernelError) return error
  const { statusCode, message } = error as { statusCode?: number; message?: string }
  const isClientError = statusCode !== undefined && statusCode >= 400 && statusCode < 500
  return new KernelError(isClientError ? 'INVALID' : 'INTERNAL', message ?? String(error))
}

function problemText(error: z.ZodError): string {
  return error.issues.map((issue) => [issue.path.join('.'), issueText(issue)].filter(Boolean).join(': ')).join('; ')
}
