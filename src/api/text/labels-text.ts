// Labels of a process as text. Test: test/e2e/naming/labels.test.ts.
import type { Labels } from '../../kernel/model/spec-parts.ts'

/** `team=web, draft` */
export function labelsText(labels: Labels = {}): string {
  return Object.entries(labels)
    .map(([key, value]) => (value === '' ? key : `${key}=${value}`))
    .join(', ')
}
