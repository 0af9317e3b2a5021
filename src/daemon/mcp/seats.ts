// Who may call reeve's tools: a token of 32 random bytes for each incarnation that has them, and for each person's bridge. Tokens
// are in memory alone and gone with their incarnation; identity is the token, never a name. Test: test/e2e/mcp-security.test.ts.
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import type { Pid, Uuid } from '../../kernel/types.ts'
import type { Place } from './tool.ts'

const TOKEN_BYTES = 32
/** bridges of people; the oldest goes, and its bridge asks for another one */
const MAX_PERSONS = 256

export type Seat =
  | { readonly uuid: Uuid; readonly pid: Pid }
  | { readonly uuid: null; readonly place: Place }

export class Seats {
  /** by the token's sum: no time tells how much of a guess was right */
  readonly #seats = new Map<string, { readonly sum: Buffer; readonly seat: Seat }>()

  mint(seat: Seat): string {
    const token = randomBytes(TOKEN_BYTES).toString('base64url')
    const persons = [...this.#seats].filter(([, { seat: { uuid } }]) => uuid === null)
    if (seat.uuid === null && persons.length >= MAX_PERSONS) this.#seats.delete(persons[0]?.[0] ?? '')
    const sum = sumOf(token)
    this.#seats.set(sum.toString('hex'), { sum, seat })
    return token
  }

  drop(token: string): void {
    this.#seats.delete(sumOf(token).toString('hex'))
  }

  find(token: string): Seat | null {
    const sum = sumOf(token)
    const found = this.#seats.get(sum.toString('hex'))
    return found && timingSafeEqual(found.sum, sum) ? found.seat : null
  }
}

function sumOf(token: string): Buffer {
  return createHash('sha256').update(token).digest()
}
