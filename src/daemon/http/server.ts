// The API's server: HTTP and JSON over a Unix socket of mode 0600.
// Owns the edge: schemas, the error body, what a request must look like. Knows no operation. Test: test/e2e/api.test.ts.
import { chmod, rm } from 'node:fs/promises'
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import type { z } from 'zod'
import { issueWords } from '../../config/issues.ts'
import { ERRORS, KernelError, type ErrorCode } from '../../kernel/errors.ts'
import type { ErrorBody } from '../../api/views.ts'

/** bytes of a request's body: an environment and an intent fit */
const MAX_BODY = 4 * 1024 * 1024
const JSON_TYPE = /^application\/json\s*(;|$)/i

export interface Server {
  readonly app: FastifyInstance
  listen(socket: string): Promise<void>
  close(): Promise<void>
}

export function createServer(log: (message: string, error: unknown) => void): Server {
  const answerError = async (error: unknown, _request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    const known = toKernelError(error)
    if (known.code === 'INTERNAL') log('request failed', error)
    await reply.status(ERRORS[known.code].http).send(errorBody(known))
  }
  const app = Fastify({
    logger: false, bodyLimit: MAX_BODY, forceCloseConnections: true, exposeHeadRoutes: false,
    frameworkErrors: (error, request, reply) => answerError(error, request, reply),
  })
  app.removeContentTypeParser('text/plain')
  app.setValidatorCompiler(({ schema }) => (data) => {
    const parsed = (schema as z.ZodType).safeParse(data ?? {})
    return parsed.success ? { value: parsed.data } : { error: new KernelError('INVALID', problemText(parsed.error)) }
  })
  app.setSerializerCompiler(() => (data) => JSON.stringify(data))
  app.addHook('onRequest', async (request) => refuseBrowsers(request))
  app.setErrorHandler(answerError)
  app.setNotFoundHandler(async (request, reply) => {
    await reply.status(404).send(errorBody(new KernelError('INVALID', `there is no ${request.method} ${request.url}`)))
  })
  return { app, listen: (socket) => listen(app, socket), close: () => app.close() }
}

/** Nobody else reaches the socket before its mode is set: its directory is 0700. The umask is the agents', so it stays. */
async function listen(app: FastifyInstance, socket: string): Promise<void> {
  await rm(socket, { force: true })
  await app.listen({ path: socket })
  await chmod(socket, 0o600)
}

/** No page has business here: a browser names its origin, our clients do not. A page can send without asking, but no JSON. */
function refuseBrowsers({ method, headers }: FastifyRequest): void {
  if (headers.origin !== undefined) throw new KernelError('FORBIDDEN', 'requests with an Origin are refused')
  if (method === 'POST' && !JSON_TYPE.test(headers['content-type'] ?? '')) throw new KernelError('FORBIDDEN', 'the content type must be application/json')
}

function toKernelError(error: unknown): KernelError {
  if (error instanceof KernelError) return error
  const { statusCode, message } = error as { statusCode?: number; message?: string }
  const isClients = statusCode !== undefined && statusCode >= 400 && statusCode < 500
  return new KernelError(isClients ? 'INVALID' : 'INTERNAL', message ?? String(error))
}

function errorBody(error: KernelError): ErrorBody {
  const code: ErrorCode = error.code
  return { version: 1, error: { code, message: error.message, hint: error.hint, ...(error.details ? { details: { ...error.details } } : {}) } }
}

function problemText(error: z.ZodError): string {
  return error.issues.map((issue) => [issue.path.join('.'), issueWords(issue)].filter(Boolean).join(': ')).join('; ')
}
