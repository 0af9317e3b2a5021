// The limit of a page of rows or facts: each page is read within one turn of the event loop. Test: test/tables/store/store.test.ts.
import { KernelError } from '../../kernel/model/errors.ts'

/** The maximum number of rows in one page. */
export const MAX_PAGE_ROWS = 10_000

/** Checks the number of rows that a caller asks for. Errors: `INTERNAL` above `MAX_PAGE_ROWS`. */
export function checkPageLimit(limit: number): void {
  if (Number.isInteger(limit) && limit >= 0 && limit <= MAX_PAGE_ROWS) return
  throw new KernelError('INTERNAL', `A page of ${limit} rows cannot be read; the limit is ${MAX_PAGE_ROWS}.`)
}
