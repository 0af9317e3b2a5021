// The flags that limit a process, for the tables of `run` and `resume`. What they mean is read by limit-flags.ts.
// Test: test/tables/cli-limits.test.ts.
import type { Flag, Flags } from './args.ts'

const text = (value: string, help: string): Flag => ({ kind: 'text', value, help })

/** `more` stands behind the figure where something can be added to it. */
function rows(more: string): Flags {
  return {
    'max-steps': text(`N${more}`, 'steps that it may take, with all below it'),
    'max-turns': text(`N${more}`, 'turns'),
    'max-tool-calls': text(`N${more}`, 'tool calls'),
    'max-children': text(`N${more}`, 'children that may live at a time'),
    'max-depth': text(`N${more}`, 'how deep processes may be nested below it'),
    timeout: text(`D${more}`, 'time, which stands still while it is suspended'),
    'cpu-time': text(`D${more}`, 'CPU time of its programs'),
    memory: text(`SIZE${more}`, 'memory of its programs, as in 2GiB'),
    'max-output': text(`SIZE${more}`, 'what its programs may print'),
    'budget-usd': text(`X${more}`, 'money for it and all below it'),
    'budget-tokens': text(`N${more}`, 'tokens for it and all below it'),
    'on-limit': text('ACTION', 'what becomes of it at a limit: suspend or terminate (default: suspend for money and tokens, else terminate)'),
    'unknown-price': text('WHAT', 'a model without a known price where there is a budget of money: warn (default) or refuse'),
  }
}

export const LIMIT_FLAGS: Flags = rows('')
/** With a plus it is added to what it has. */
export const RAISE_FLAGS: Flags = rows('|+…')
