// Reads error answers whose status does not show whether the provider refuses the account. 400 and 429 can mean a used-up quota, too.
// Keeps a copy of the body; the client gets the original bytes. Test: test/processes/gateway/account.test.ts.
import type { IncomingMessage } from 'node:http'
import { parseFailure } from '../native/models/failure.ts'
import type { ForwardOutcome } from './forward.ts'
import { decodeBody } from './request-body.ts'

/** The longest error body that is read, in bytes. */
const MAX_BYTES = 64 * 1024

/** True for a status that can mean a refused account, or another error. */
export function isRefusalUnclear(status: number): boolean {
  return status === 400 || status === 429
}

export class ErrorAnswerReader {
  readonly #encoding: string | undefined
  readonly #chunks: Buffer[] = []
  #bytes = 0

  constructor({ headers }: Pick<IncomingMessage, 'headers'>) {
    this.#encoding = headers['content-encoding']
  }

  write(chunk: Buffer): void {
    this.#bytes += chunk.length
    if (this.#bytes <= MAX_BYTES) this.#chunks.push(chunk)
  }

  /** Whether the provider refused the account in this answer. False for an incomplete or long body. */
  async isAccountRefused({ end, status }: Pick<ForwardOutcome, 'end' | 'status'>): Promise<boolean> {
    if (end !== 'whole' || this.#bytes > MAX_BYTES) return false
    const body = await decodeBody(Buffer.concat(this.#chunks), this.#encoding, MAX_BYTES)
    return parseFailure({ statusCode: status, responseBody: body?.toString() ?? '', message: 'refused' }, 0).kind === 'auth'
  }
}
