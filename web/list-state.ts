// What the user has selected and folded in the list of processes. Test: test/e2e/web/fleet.test.ts.
import { signal } from '@preact/signals'

export const folded = signal<ReadonlySet<string>>(new Set())
export const selectedUuid = signal<string | null>(null)

/** Folds an open row, or opens a folded one. */
export function toggleFold(uuid: string): void {
  const next = new Set(folded.value)
  if (!next.delete(uuid)) next.add(uuid)
  folded.value = next
}
