// What keys do on the steps of a process; src/faces/keys.ts has the keys. Test: test/e2e/web/process/steps.test.ts.
import type { RowView } from '../../src/api/views/rows.ts'
import { hasFlag, indexOfStep, type StepColumns, type StepLine } from '../../src/faces/step-list.ts'
import type { KeyHandlers } from '../keyboard.ts'
import { openFork } from '../dialogs/dialog-targets.ts'
import { setQuery } from '../router.ts'
import { asOf, showStep } from './address.ts'
import { canFork } from './step-rows.tsx'

/** the lines of a page of the list */
const PAGE_LINES = 15

interface Position {
  readonly row: RowView
  readonly columns: StepColumns
  readonly lines: readonly StepLine[]
  /** the index of the line with `step`; -1: there is none */
  readonly line: number
  readonly step: number
  readonly unfold: (step: number) => void
}

export function stepHandlers({ row, columns, lines, line, step, unfold }: Position): KeyHandlers {
  const index = indexOfStep(columns, step)
  const show = (to: number | undefined): boolean => {
    if (to !== undefined) showStep(row.uuid, to)
    return to !== undefined
  }
  const goTo = (to: number): boolean =>
    !isInScrolledPart() && show(columns.step[lines[Math.max(0, Math.min(lines.length - 1, to))]?.from ?? -1])
  return {
    previousLine: () => goTo(line - 1),
    nextLine: () => goTo(line + 1),
    linesUp: () => goTo(line - PAGE_LINES),
    linesDown: () => goTo(line + PAGE_LINES),
    firstStep: () => goTo(0),
    lastStep: () => goTo(lines.length - 1),
    previousPart: () => show(columns.step[index - 1]),
    nextPart: () => show(columns.step[index + 1]),
    previousEdit: () => show(stepWithFiles(columns, index, -1)),
    nextEdit: () => show(stepWithFiles(columns, index, 1)),
    unfoldRun: () => {
      const at = lines[line]
      if (!at || at.to === at.from) return false
      unfold(columns.step[at.from] ?? step)
    },
    replay: () => setQuery('as', asOf.value === null ? String(step) : ''),
    fork: () => {
      if (!canFork(row, columns, index)) return false
      openFork(row, step)
    },
  }
}

/** Whether the focus is in a part that scrolls, which keeps the keys for scrolling. */
function isInScrolledPart(): boolean {
  return document.activeElement?.closest('.step-detail') !== null
}

/** The nearest step with changed files, before or after an index. */
function stepWithFiles(columns: StepColumns, from: number, by: 1 | -1): number | undefined {
  for (let index = from + by; index >= 0 && index < columns.step.length; index += by)
    if (hasFlag(columns, index, 'files')) return columns.step[index]
  return undefined
}
