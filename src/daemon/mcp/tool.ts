// What a tool of reeve's own is: one row with its words, the schema of what it takes, and what it does by the daemon's operations.
// The MCP server, native agents and docs/mcp-server.md all read the same rows. Must never decide what a process may do: the
// kernel does, and says so. Tests: test/e2e/mcp-server.test.ts, test/tables/mcp-own-tools.test.ts.
import { z } from 'zod'
import { KernelError } from '../../kernel/errors.ts'
import type { LeadCommand, WorkerCommand } from '../../crew/commands.ts'
import type { Pid, Process, Sender, ToolEffect, Uuid } from '../../kernel/types.ts'
import type { Keys } from '../keys.ts'
import type { Operations } from '../operations.ts'
import type { Pipeline } from '../pipeline.ts'
import type { Reads } from '../reads.ts'
import type { Removals } from '../removals.ts'
import type { Waiter } from '../waiter.ts'
import type { Store } from '../../store/store.ts'

/** What the tools work with. */
export interface Host {
  readonly operations: Operations
  readonly reads: Reads
  readonly waiter: Waiter
  readonly pipeline: Pick<Pipeline, 'request'>
  readonly keys: Pick<Keys, 'known'>
  readonly store: Pick<Store, 'facts'>
  readonly removals: Pick<Removals, 'alone'>
  readonly crews: CrewDesk
}

/** What the tools of members need of the crews (src/daemon/crews.ts). */
export interface CrewDesk {
  /** Errors: those of the command, with a hint; LATE for a turn or an incarnation that is over. */
  command(crew: string, by: CrewCaller, command: LeadCommand | WorkerCommand): Promise<{ readonly note: string | null }>
  /** as people see it, with texts and threads of one task where that is named */
  view(crew: string, task?: string): Promise<{ readonly members: readonly CrewItem[]; readonly tasks: readonly CrewItem[] }>
}

type CrewItem = { readonly id: string } & Readonly<Record<string, unknown>>

export interface CrewCaller {
  readonly uuid: Uuid
  readonly pid: Pid
  readonly turn: number
  readonly call: string
}

/** One call on its way. */
export interface Called {
  readonly host: Host
  /** who calls; null: a person, by `reeve mcp` without a token */
  readonly caller: Process | null
  readonly by: Sender
  /** of a person: where it works, and with which environment */
  readonly place: Place | null
  /** the same for a call that is repeated */
  readonly id: string
  /** the turn in which the call was made, where that is not the one that is on */
  readonly turn?: number
  readonly signal: AbortSignal
  /** says that it still waits */
  readonly progress: (text: string) => void
}

export interface Place {
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
}

/** `any`: whoever has reeve's tools, and people; `process`: about the caller itself; the others: members of crews by their role. */
export type Who = 'any' | 'process' | 'worker' | 'coordinator'

export interface OwnDefinition {
  readonly name: string
  readonly who: Who
  readonly effect: ToolEffect
  readonly description: string
  readonly example: object
  /** it tells of work that is done: it is not to be lost while the daemon is away */
  readonly report?: true
  schema(): Readonly<Record<string, unknown>>
  /** Errors: KernelError; INVALID for an input that does not fit. What it gives is JSON. */
  run(input: unknown, called: Called): Promise<object>
}

interface Row<Input extends z.ZodObject> extends Omit<OwnDefinition, 'schema' | 'run' | 'example'> {
  readonly input: Input
  readonly example: z.input<Input>
  run(input: z.output<Input>, called: Called): Promise<object>
}

export function define<Input extends z.ZodObject>({ input, run, ...row }: Row<Input>): OwnDefinition {
  let schema: Record<string, unknown> | undefined
  return {
    ...row,
    schema: () => (schema ??= schemaOf(input)),
    run: (given, called) => {
      const checked = input.safeParse(given ?? {})
      if (!checked.success) throw new KernelError('INVALID', `the input of ${row.name} does not fit: ${z.prettifyError(checked.error)}`, undefined, `For example: ${JSON.stringify(row.example)}`)
      return run(checked.data, called)
    },
  }
}

/** As a model writes it: defaults may be left out. */
function schemaOf(input: z.ZodObject): Record<string, unknown> {
  const { $schema: _, ...schema } = z.toJSONSchema(input, { io: 'input' })
  return schema
}
