// Connects to an MCP server at an address. Adds a size limit for bodies to the MCP library's transport for Streamable HTTP.
// A request whose stream ends without an answer gets an error.
// Test: test/processes/mcp/http.test.ts.
import { StreamableHTTPClientTransport, isJSONRPCRequest } from '@modelcontextprotocol/client'
import type { JSONRPCMessage } from '@modelcontextprotocol/client'
import type { McpTransport } from '../../kernel/model/mcp-start.ts'
import { limitBytes, limitEvents } from '../common/event-size-limit.ts'
import type { EndWaits } from '../native/tools/tool.ts'

/** The largest response, or event of a stream, in bytes. */
const MAX_MESSAGE_BYTES = 16 * 1024 * 1024
const INTERNAL_ERROR = -32_603
/** The longest wait for the server to end the session, in ms. */
const MAX_SESSION_END_MS = 1_000

export class HttpTransport extends StreamableHTTPClientTransport {
  constructor({ url, headers }: Extract<McpTransport, { kind: 'http' }>) {
    super(new URL(url), { requestInit: { headers }, fetch: limitedFetch })
  }

  override send(message: JSONRPCMessage, options: Parameters<StreamableHTTPClientTransport['send']>[1] = {}): Promise<void> {
    const onRequestStreamEnd = options.onRequestStreamEnd ?? (() => this.#rejectUnanswered(message))
    return super.send(message, { ...options, onRequestStreamEnd })
  }

  /** Ends the session, which exists only in the older revision of the protocol. Waits a limited time for a server that does not answer. */
  async end({ stdinMs }: EndWaits): Promise<void> {
    if (stdinMs > 0) {
      const { promise: timeout, resolve } = Promise.withResolvers<void>()
      const timer = setTimeout(resolve, Math.min(stdinMs, MAX_SESSION_END_MS))
      // If the request fails, the session ends by the server's own time limit.
      await Promise.race([this.terminateSession().catch(() => undefined), timeout])
      clearTimeout(timer)
    }
    await this.close()
  }

  /**
   * Gives the library an error as the answer to a request whose stream has ended. The library ignores the error if the request already has
   * an answer.
   */
  #rejectUnanswered(message: JSONRPCMessage): void {
    if (!isJSONRPCRequest(message)) return
    this.onmessage?.({ jsonrpc: '2.0', id: message.id, error: { code: INTERNAL_ERROR, message: 'the connection ended before the answer' } })
  }
}

/** A `fetch` that limits the size of a response's body. */
async function limitedFetch(url: string | URL, init?: RequestInit): Promise<Response> {
  const { body, status, statusText, headers } = await fetch(url, init)
  const hasNoBody = body === null || status === 204 || status === 304
  return new Response(hasNoBody ? null : body.pipeThrough(sizeLimit(headers.get('content-type') ?? '')), { status, statusText, headers })
}

/** Limits the size of a body: of each event in an event stream, or else of the whole body. */
function sizeLimit(type: string): TransformStream<Uint8Array, Uint8Array> {
  return (type.startsWith('text/event-stream') ? limitEvents : limitBytes)(
    MAX_MESSAGE_BYTES,
    () => new Error(`an answer is longer than ${MAX_MESSAGE_BYTES} bytes`),
  )
}
