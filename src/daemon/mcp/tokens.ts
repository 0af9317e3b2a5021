// Access tokens for the MCP server with reeve's own tools: 32 random bytes for an incarnation, or for an MCP client of the user. Tokens
// exist only in memory, and those of an incarnation end with it. A caller must only be identified by its token, never by a name.
// Test: test/e2e/mcp/security.test.ts.
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import type { CallerContext } from './tool.ts'
import type { Pid, Uuid } from '../../kernel/model/ids.ts'

const TOKEN_BYTES = 32
/** The largest number of tokens for users. A further one replaces the oldest, whose client then requests a new token. */
const MAX_USER_TOKENS = 256

/** The owner of a token: an incarnation, or the user. */
export type ToolCaller =
  | { readonly uuid: Uuid; readonly pid: Pid; readonly onToolsListed?: () => void }
  | { readonly uuid: null; readonly userContext: CallerContext }

export class AccessTokens {
  /** by the hash of the token, so that the time of a lookup reveals nothing about a token */
  readonly #callers = new Map<string, { readonly hash: Buffer; readonly caller: ToolCaller }>()

  /** Creates a token for a caller. */
  create(caller: ToolCaller): string {
    const token = randomBytes(TOKEN_BYTES).toString('base64url')
    const userTokens = [...this.#callers].filter(
      ([
        ,
        {
          caller: { uuid },
        },
      ]) => uuid === null,
    )
    if (caller.uuid === null && userTokens.length >= MAX_USER_TOKENS) this.#callers.delete(userTokens[0]?.[0] ?? '')
    const hash = hashOf(token)
    this.#callers.set(hash.toString('hex'), { hash, caller })
    return token
  }

  /** Makes a token invalid. */
  revoke(token: string): void {
    this.#callers.delete(hashOf(token).toString('hex'))
  }

  /** Finds the owner of a token; null if the token is not valid. */
  find(token: string): ToolCaller | null {
    const hash = hashOf(token)
    const found = this.#callers.get(hash.toString('hex'))
    return found && timingSafeEqual(found.hash, hash) ? found.caller : null
  }
}

function hashOf(token: string): Buffer {
  return createHash('sha256').update(token).digest()
}
