// What the user has selected and folded in the list of processes. Test: test/e2e/web/fleet.test.ts.
import { signal } from '@preact/signals'
import { shortId } from '../../src/faces/format.ts'
import { setQuery } from '../router.ts'

/** the most folds that the address keeps */
const MAX_FOLDS = 200

export const folded = signal<ReadonlySet<string>>(new Set())
export const selectedUuid = signal<string | null>(null)

/** Folds an open row, or opens a folded one. */
export function toggleFold(uuid: string): void {
  const next = new Set(folded.value)
  if (!next.delete(uuid)) next.add(uuid)
  setFolded(next)
}

/** Folds these rows, and no other. The address of the list has them by the last digits of their UUIDs. */
export function setFolded(next: ReadonlySet<string>): void {
  folded.value = next
  keepFolds()
}

/** Puts the folds into the address of the list. */
export function keepFolds(): void {
  setQuery('fold', [...folded.peek()].slice(0, MAX_FOLDS).map(shortId).join('.'))
}
