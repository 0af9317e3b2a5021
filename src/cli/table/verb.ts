// The types of the verb table, and of the call of a verb. Test: test/tables/cli/table/verbs.test.ts.
import type { Args, FlagTable } from '../input/args.ts'
import type { Output } from '../print/output.ts'
import type { Reeve } from '../../index.ts'

/** The output and the client of a running command. */
export interface CommandContext {
  readonly out: Output
  readonly reeve: Reeve
}

/** The arguments of a verb's `run`. */
export interface VerbCall extends CommandContext {
  readonly args: Args
  /** loads the verb table, for verbs that describe other verbs; a verb must not import the table */
  readonly loadVerbs: () => Promise<VerbTable>
}

/** Verbs by name. The order is that of docs/reference/verbs. */
export type VerbTable = Readonly<Record<string, Verb>>

/** A row of the verb table. */
export interface Verb {
  readonly summary: string
  readonly usage: readonly string[]
  /** the paragraphs of the description */
  readonly about: readonly string[]
  /** the least and the greatest number of words after the verb, without flags */
  readonly wordRange: readonly [number, number]
  readonly flags: FlagTable
  /** `--` separates the command line of a program */
  readonly takesCommand?: true
  /** the verb exits with the code of the process */
  readonly exitsWithProcessCode?: true
  /** for a family: its verbs, by their second word */
  readonly parts?: Readonly<Record<string, Verb>>
  /** the exit codes with their meanings: `0; 3 no such process` */
  readonly exits: string
  readonly examples: readonly (readonly [command: string, what: string])[]
  readonly load: () => Promise<{ run(call: VerbCall): Promise<number> }>
}
