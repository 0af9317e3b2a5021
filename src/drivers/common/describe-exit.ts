// Describes the exit of a program for the user and for models. Pure. Tests: test/processes/native/bash.test.ts,
// test/processes/acp/hostile.test.ts.
import type { ProgramExit } from '../contain/containment-contract.ts'

/** Returns a text such as `exit code 1` or `ended by SIGKILL`. */
export function describeExit({ code, signal }: ProgramExit): string {
  return signal === null ? `exit code ${code ?? 'unknown'}` : `ended by ${signal}`
}
