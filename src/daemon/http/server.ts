// The API's server: HTTP and JSON over a Unix socket of mode 0600.
// Owns the edge: schemas, the error body, what a request must look like. Knows no operation. Test: test/e2e/api.test.ts.
import { chmod, rm } from 'node:fs/promises'
import Fastify, { type FastifyInstance, type FastifyRequest } from 'fastify'
import { z } from 'zod'
import { ERRORS, KernelError, type ErrorCode } from '../../kernel/errors.ts'
import type { ErrorBody } from '../../api/views.ts'

/** bytes of a request's body: an environment and an intent fit */
const MAX_BODY = 4 * 1024 * 1024

export interface Server {
  readonly app: FastifyInstance
  listen(socket: string): Promise<void>
  close(): Promise<void>
}

export function createServer(log: (message: string, error: unknown) => void): Server {
  const app = Fastify({ logger: false, bodyLimit: MAX_BODY, forceCloseConnections: true, exposeHeadRoutes: false })
  app.removeContentTypeParser('text/plain')
  app.setValidatorCompiler(({ schema }) => (data) => {
    const parsed = (schema as z.ZodType).safeParse(data ?? {})
    return parsed.success ? { value: parsed.data } : { error: new KernelError('INVALID', problemText(parsed.error)) }
  })
  app.setSerializerCompiler(() => (data) => JSON.stringify(data))
  app.addHook('onRequest', async (request) => refuseBrowsers(request))
  app.setErrorHandler(async (error, _request, reply) => {
    const known = toKernelError(error)
    if (known.code === 'INTERNAL') log('request failed', error)
    await reply.status(ERRORS[known.code].http).send(errorBody(known))
  })
  app.setNotFoundHandler(async (request, reply) => {
    await reply.status(404).send(errorBody(new KernelError('INVALID', `there is no ${request.method} ${request.url}`)))
  })
  return { app, listen: (socket) => listen(app, socket), close: () => app.close() }
}

async function listen(app: FastifyInstance, socket: string): Promise<void> {
  await rm(socket, { force: true })
  const mask = process.umask(0o177)
  try {
    await app.listen({ path: socket })
  } finally {
    process.umask(mask)
  }
  await chmod(socket, 0o600)
}

/** No page has business here: a browser names its origin, our clients do not. */
function refuseBrowsers(request: FastifyRequest): void {
  if (request.headers.origin !== undefined) throw new KernelError('FORBIDDEN', 'requests with an Origin are refused')
}

function toKernelError(error: unknown): KernelError {
  if (error instanceof KernelError) return error
  const { code, statusCode, message } = error as { code?: string; statusCode?: number; message?: string }
  if (code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE') return new KernelError('FORBIDDEN', 'the content type must be application/json')
  const isClients = statusCode !== undefined && statusCode >= 400 && statusCode < 500
  return new KernelError(isClients ? 'INVALID' : 'INTERNAL', message ?? String(error))
}

function errorBody(error: KernelError): ErrorBody {
  const code: ErrorCode = error.code
  return { version: 1, error: { code, message: error.message, hint: error.hint, ...(error.details ? { details: { ...error.details } } : {}) } }
}

function problemText(error: z.ZodError): string {
  return error.issues.map((issue) => [issue.path.join('.'), issue.message].filter(Boolean).join(': ')).join('; ')
}
