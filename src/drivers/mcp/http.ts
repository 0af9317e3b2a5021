// An MCP server at an address: the library's Streamable HTTP, with bodies that have a limit, and with an answer for who
// waits on a stream that ended. Test: test/e2e/mcp-http.test.ts.
import { StreamableHTTPClientTransport, isJSONRPCRequest } from '@modelcontextprotocol/client'
import type { JSONRPCMessage } from '@modelcontextprotocol/client'
import type { McpReach } from '../../kernel/mcp.ts'
import { limitBytes, limitEvents } from '../event-limit.ts'
import type { Patience } from '../native/tools/tool.ts'

/** The longest answer, or event of a stream, in bytes. */
const MAX_MESSAGE_BYTES = 16 * 1024 * 1024
const INTERNAL_ERROR = -32_603
/** How long the goodbye to a session may take. */
const GOODBYE_MS = 1_000

export class HttpTransport extends StreamableHTTPClientTransport {
  constructor({ url, headers }: Extract<McpReach, { kind: 'http' }>) {
    super(new URL(url), { requestInit: { headers }, fetch: limitedFetch })
  }

  override send(message: JSONRPCMessage, options: Parameters<StreamableHTTPClientTransport['send']>[1] = {}): Promise<void> {
    const onRequestStreamEnd = options.onRequestStreamEnd ?? (() => this.#unanswered(message))
    return super.send(message, { ...options, onRequestStreamEnd })
  }

  /** Sessions are of the older revisions; nobody waits long for a server that does not want to know. */
  async end({ stdinMs }: Patience): Promise<void> {
    if (stdinMs > 0) {
      const { promise: late, resolve } = Promise.withResolvers<void>()
      const timer = setTimeout(resolve, Math.min(stdinMs, GOODBYE_MS))
      await Promise.race([this.terminateSession().catch(() => undefined), late])
      clearTimeout(timer)
    }
    await this.close()
  }

  /** One that was answered is not waited for any more: then this is passed over. */
  #unanswered(message: JSONRPCMessage): void {
    if (!isJSONRPCRequest(message)) return
    this.onmessage?.({ jsonrpc: '2.0', id: message.id, error: { code: INTERNAL_ERROR, message: 'the connection ended before the answer' } })
  }
}

async function limitedFetch(url: string | URL, init?: RequestInit): Promise<Response> {
  const { body, status, statusText, headers } = await fetch(url, init)
  const isEmpty = body === null || status === 204 || status === 304
  return new Response(isEmpty ? null : body.pipeThrough(limit(headers.get('content-type') ?? '')), { status, statusText, headers })
}

/** Of a stream only what has come since the last event counts. */
function limit(type: string): TransformStream<Uint8Array, Uint8Array> {
  return (type.startsWith('text/event-stream') ? limitEvents : limitBytes)(MAX_MESSAGE_BYTES, () => new Error(`an answer is longer than ${MAX_MESSAGE_BYTES} bytes`))
}
