// A compose run in the row of its process. The row has the nodes and their states; the transitions are in src/kernel/compose/run.ts.
// Test: test/tables/kernel/decide/compose.test.ts.
import { foldCompose, createRun } from './run.ts'
import { KernelError } from '../model/errors.ts'
import type { ComposeFact, ComposeRun } from '../model/compose.ts'
import type { Process } from '../model/process.ts'
import type { ComposeSpec } from '../model/process-spec.ts'

export function isComposeRun({ spec }: Pick<Process, 'spec'>): boolean {
  return spec.driver === 'compose'
}

/** The specification of a run. Errors: INTERNAL if the process is not a run. */
export function composeSpecOf({ uuid, spec }: Pick<Process, 'uuid' | 'spec'>): ComposeSpec {
  if (!spec.compose) throw new KernelError('INTERNAL', `${uuid} is not a run of a compose file`)
  return spec.compose
}

/** The nodes of a run and their states. Before the first fact all nodes wait. */
export function composeRunOf(process: Process): ComposeRun {
  return process.compose ?? createRun(composeSpecOf(process))
}

/** Applies any fact of a run to the process row. */
export function foldComposeFact(process: Process, fact: ComposeFact): Process {
  return { ...process, compose: foldCompose(composeRunOf(process), fact) }
}
