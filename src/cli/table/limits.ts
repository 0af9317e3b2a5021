// The flags that set limits, for the rows of verbs such as `run` and `resume`. limit-flags.ts parses their values.
// Test: test/tables/cli/input/limit-flags.test.ts.
import type { Flag, FlagTable } from '../input/args.ts'

const text = (value: string, help: string): Flag => ({ kind: 'text', value, help })

/** Returns the flags. `suffix` is added to the name of each value in the help. */
function limitFlags(suffix: string): FlagTable {
  return {
    'max-steps': text(`N${suffix}`, 'steps, including its descendants'),
    'max-turns': text(`N${suffix}`, 'turns'),
    'max-tool-calls': text(`N${suffix}`, 'tool calls'),
    'max-children': text(`N${suffix}`, 'living children at a time'),
    'max-depth': text(`N${suffix}`, 'depth of the tree below it'),
    timeout: text(`D${suffix}`, 'time, not counted while suspended'),
    'cpu-time': text(`D${suffix}`, 'CPU time of its programs'),
    memory: text(`SIZE${suffix}`, 'memory of its programs, as in 2GiB'),
    'max-output': text(`SIZE${suffix}`, 'output of its programs'),
    'budget-usd': text(`X${suffix}`, 'money, including its descendants'),
    'budget-tokens': text(`N${suffix}`, 'tokens, including its descendants'),
    'on-limit': text('ACTION', 'what happens at a limit: suspend or terminate (default: suspend for money and tokens, else terminate)'),
    'unknown-price': text('WHAT', 'a model without a known price under a money budget: warn (default) or refuse'),
  }
}

export const LIMIT_FLAGS: FlagTable = limitFlags('')
/** The same flags for `resume`: a value with a plus is added to the current limit. */
export const RAISE_FLAGS: FlagTable = limitFlags('|+…')
