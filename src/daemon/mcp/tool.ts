// Defines what one of reeve's own tools consists of: its description, its input schema, and a function that calls the daemon's operations.
// The MCP server, native agents and docs/reference/mcp-tools.md all read the same definitions. Must never decide what a process may do:
// the kernel decides. Tests: test/e2e/mcp/server.test.ts, test/tables/daemon/mcp/own-tools.test.ts.
import { z } from 'zod'
import { KernelError } from '../../kernel/model/errors.ts'
import type { CrewMemberView, CrewTaskView } from '../../api/views/crew.ts'
import type { LeadCommand, WorkerCommand } from '../../kernel/model/crew/commands.ts'
import type { LineComment } from '../../kernel/crew/text/line-comments.ts'
import type { Process } from '../../kernel/model/process.ts'
import type { Credentials } from '../incarnation/credentials.ts'
import type { Operations } from '../operations/operations.ts'
import type { Pipeline } from '../loop/pipeline.ts'
import type { ProcessQueries } from '../views/process-queries.ts'
import type { Removals } from '../operations/removals.ts'
import type { Waiter } from '../loop/waiter.ts'
import type { Store } from '../../store/store.ts'
import type { Pid, Sender, Uuid } from '../../kernel/model/ids.ts'
import type { ToolEffect } from '../../kernel/model/words.ts'

/** The services that the tools use. */
export interface ToolHost {
  readonly operations: Operations
  readonly reads: ProcessQueries
  readonly waiter: Waiter
  readonly pipeline: Pick<Pipeline, 'request'>
  readonly credentials: Pick<Credentials, 'storedKeys'>
  readonly store: Pick<Store, 'facts'>
  readonly removals: Pick<Removals, 'runExclusively'>
  readonly crews: CrewToolPort
}

/** What the tools of crew members need; src/daemon/crew/commands.ts implements it. */
export interface CrewToolPort {
  /** runs a command of a member. Errors: those of the command, with a hint; LATE for a turn or an incarnation that is over */
  runMemberCommand(crew: string, by: CrewCaller, command: LeadCommand | WorkerCommand): Promise<{ readonly note: string | null }>
  /** returns a reviewer's comments, with the lines of the reviewed change quoted. Errors: INVALID for a line that does not exist */
  quoteLines(crew: string, by: Uuid, comments: string, lines: readonly LineComment[]): Promise<string>
  /** returns the members and tasks of a crew as users see them; for `task` also its texts and messages */
  view(crew: string, task?: string): Promise<{ readonly members: readonly CrewMemberView[]; readonly tasks: readonly CrewTaskView[] }>
}

/** The member that calls a tool. */
export interface CrewCaller {
  readonly uuid: Uuid
  readonly pid: Pid
  readonly turn: number
  /** the id of the call */
  readonly call: string
}

/** A call in progress. */
export interface ToolCallContext {
  readonly host: ToolHost
  /** the calling process; null if the user calls, with an MCP client */
  readonly caller: Process | null
  readonly by: Sender
  /** the working directory and environment of the user's client; null if a process calls */
  readonly userContext: CallerContext | null
  /** the id of the call; a repeated call has the same id */
  readonly id: string
  /** the turn in which the call was made; absent: the current one */
  readonly turn?: number
  readonly signal: AbortSignal
  /** sends a progress message to the caller, so that its client does not time out */
  readonly progress: (text: string) => void
}

export interface CallerContext {
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
}

/**
 * The callers that may use a tool. `any`: all processes with reeve's tools, and users. `process`: only processes, as the tool is about the
 * caller itself. `worker` and `coordinator`: crew members with that role.
 */
export type ToolAudience = 'any' | 'process' | 'worker' | 'coordinator'

export interface OwnToolDefinition {
  readonly name: string
  readonly who: ToolAudience
  readonly effect: ToolEffect
  readonly description: string
  readonly example: object

  /** returns the JSON schema of the input */
  schema(): Readonly<Record<string, unknown>>
  /** runs a call; the result is sent as JSON. Errors: KernelError, such as INVALID for an input that does not match the schema */
  run(input: unknown, context: ToolCallContext): Promise<object>
}

/** A tool as its file defines it: with a zod schema. */
interface TypedDefinition<Input extends z.ZodObject> extends Omit<OwnToolDefinition, 'schema' | 'run' | 'example'> {
  readonly input: Input
  readonly example: z.input<Input>
  run(input: z.output<Input>, context: ToolCallContext): Promise<object>
}

/** Returns a tool whose inputs are validated before it runs. */
export function defineOwnTool<Input extends z.ZodObject>({ input, run, ...definition }: TypedDefinition<Input>): OwnToolDefinition {
  let schema: Record<string, unknown> | undefined
  return {
    ...definition,
    schema: () => (schema ??= schemaOf(input)),
    run: (rawInput, context) => {
      const parsed = input.safeParse(rawInput ?? {})
      if (!parsed.success)
        throw new KernelError(
          'INVALID',
          `the input of ${definition.name} is not valid: ${z.prettifyError(parsed.error)}`,
          undefined,
          `For example: ${JSON.stringify(definition.example)}`,
        )
      return run(parsed.data, context)
    },
  }
}

/** Returns the JSON schema of an input, in which fields with a default are optional. */
function schemaOf(input: z.ZodObject): Record<string, unknown> {
  const { $schema: _, ...schema } = z.toJSONSchema(input, { io: 'input' })
  return schema
}

/** Returns the calling process. Errors: INVALID for a user. */
export function requireCaller({ caller }: ToolCallContext): Process {
  if (caller === null) throw new KernelError('INVALID', 'this tool is about the calling process, but you call as the user')
  return caller
}
