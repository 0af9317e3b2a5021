// A run of a compose file as a process has it: which nodes there are, and how they stand. Owns where that is kept in a process;
// what follows what stands in src/crew/compose.ts. Test: test/tables/composing.test.ts.
import { foldCompose, newRun } from '../crew/compose.ts'
import { KernelError } from './errors.ts'
import type { ComposeFact, ComposeRun, ComposeSpec } from '../crew/compose-types.ts'
import type { Process } from './types.ts'

export function isRun({ spec }: Pick<Process, 'spec'>): boolean {
  return spec.driver === 'compose'
}

/** Errors: INTERNAL for what is no run. */
export function composeOf({ uuid, spec }: Pick<Process, 'uuid' | 'spec'>): ComposeSpec {
  if (!spec.compose) throw new KernelError('INTERNAL', `${uuid} is no run of a compose file`)
  return spec.compose
}

/** How its nodes stand; before the first fact of one all wait. */
export function nodesOf(process: Process): ComposeRun {
  return process.compose ?? newRun(composeOf(process))
}

/** The row of the fold for all facts of a run. */
export function composed(process: Process, fact: ComposeFact): Process {
  return { ...process, compose: foldCompose(nodesOf(process), fact) }
}
