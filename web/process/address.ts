// The address of the page of a process: its tab, its step, and the step as of which it is shown. Test: test/e2e/web/process/steps.test.ts.
import { computed } from '@preact/signals'
import { navigate, path, query } from '../router.ts'

/** The selected step of the address; null: none. */
export const addressedStep = computed(() => numberOf(path.value[3]))

/** The step as of which the process is shown; null: as it is now. */
export const asOf = computed(() => numberOf(query.value.get('as')))

function numberOf(text: string | null | undefined): number | null {
  return text !== null && text !== undefined && /^[1-9]\d{0,8}$/.test(text) ? Number(text) : null
}

/** The address of a tab. It keeps the step as of which the process is shown, and nothing else. */
export function tabAddress(uuid: string, tab: string): string {
  return `/p/${uuid}/${tab}${asOf.value === null ? '' : `?as=${asOf.value}`}`
}

/**
 * Selects a step. A process that is shown as of a step is then shown as of this one. Moving between steps adds no entries to the history.
 */
export function showStep(uuid: string, step: number): void {
  const next = new URLSearchParams(query.peek())
  if (asOf.peek() !== null) next.set('as', String(step))
  navigate(`/p/${uuid}/steps/${step}${next.size === 0 ? '' : `?${next}`}`, addressedStep.peek() === null ? 'push' : 'replace')
}
