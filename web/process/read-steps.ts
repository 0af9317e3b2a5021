// Reads the steps of a process as columns, and then again those after the last step that can no longer change.
// Test: test/e2e/web/process/steps.test.ts.
import type { BriefStepsView } from '../../src/api/views/steps.ts'
import { joinColumns, settledStep, type StepColumns } from '../../src/faces/step-list.ts'
import { callApi } from '../session-api.ts'
import { useLive, type Live } from '../live.ts'

/** the most steps of one answer */
const PAGE = 5_000

export function useSteps(uuid: string): Live<StepColumns> {
  return useLive<StepColumns>(uuid, 'steps', (before) => readColumns(uuid, before))
}

async function readColumns(uuid: string, before: StepColumns | null): Promise<StepColumns> {
  let columns = before
  let after = before ? settledStep(before) : 0
  for (;;) {
    const page = await callApi<BriefStepsView>(`/v1/processes/${uuid}/steps?brief=1&after=${after}&limit=${PAGE}`)
    columns = columns ? joinColumns(columns, page.columns) : page.columns
    if (page.columns.step.length < PAGE || columns.step.length >= page.total) return columns
    after = page.columns.step.at(-1) ?? after
  }
}
