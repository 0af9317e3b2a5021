// Formats the labels of a process. Test: test/e2e/naming/labels.test.ts.
import type { Labels } from '../../kernel/model/spec-parts.ts'

/** Returns the labels as text: `team=web, draft`. */
export function labelsText(labels: Labels = {}): string {
  return Object.entries(labels)
    .map(([key, value]) => (value === '' ? key : `${key}=${value}`))
    .join(', ')
}
