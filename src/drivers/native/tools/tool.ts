// Defines a tool: a name, an effect class, a validated input, and a function that returns a text and images. A tool does not
// decide whether it may run: toolbox.ts does.
// Tests: test/tables/drivers/native/tools/file-tools.test.ts, test/processes/native/bash.test.ts.
import { z } from 'zod'
import type { ImagePart } from '../../../kernel/model/facts.ts'
import type { Containment } from '../../contain/containment-contract.ts'
import type { FreezableTimers } from '../../common/freezable-timers.ts'
import { ToolError } from './tool-error.ts'
import type { ToolEffect } from '../../../kernel/model/words.ts'
import type { PathAccess } from '../../../kernel/model/spec-parts.ts'

/** The context of a tool call. */
export interface ToolContext {
  /** the id of the call, which stays the same when the call is repeated after a crash */
  readonly callId: string
  readonly cwd: string
  /** the paths that the tool may read and write; absent if only the user's own permissions limit it */
  readonly paths?: PathAccess
  /** the complete environment of the programs that the tool starts; it contains no keys */
  readonly env: Readonly<Record<string, string>>
  readonly containment: Containment
  readonly timers: FreezableTimers
  /** aborted when the turn is interrupted or the incarnation ends */
  readonly signal: AbortSignal
  /** aborted when the incarnation ends; the containment then stops the programs */
  readonly endSignal: AbortSignal
  /** Shows output while the call runs. This output is not recorded. */
  output(text: string): void
}

/** The result of a call: a text, and images for models that accept them. */
export interface ToolOutput {
  readonly text: string
  readonly images: readonly ImagePart[]
  /** the exit code of the command, if the call has run one to its end */
  readonly exitCode?: number
}

export interface Tool {
  readonly name: string
  readonly description: string
  readonly effect: ToolEffect
  /** set if the daemon has granted the tool, so that the allow and deny lists do not apply */
  readonly isGranted?: true
  /** set if the model does not see the tool, which only answers a call of an earlier incarnation */
  readonly isHidden?: true
  /** Returns the JSON Schema of the input. */
  schema(): Readonly<Record<string, unknown>>
  /** Errors: `ToolError` for an invalid input or a failure of the tool itself. */
  run(input: unknown, context: ToolContext): Promise<string | ToolOutput>
}

/** A source of tools that may change while the agent runs, such as its MCP servers. */
export interface ToolSource {
  /** Resolves when the source has started, with or without errors. Never rejects. */
  ready(): Promise<void>
  /** Returns the current tools: the same array until they change. */
  tools(): readonly Tool[]
  /** Ends the servers that provide the tools. `waits` limits how long this takes. */
  close(waits: EndWaits): Promise<void>
}

/** The longest waits when a program is ended. */
export interface EndWaits {
  /** the wait for the exit after stdin is closed, in ms */
  readonly stdinMs: number
  /** the wait for the exit after SIGTERM, in ms. Null: no signal is sent, because the containment ends the program */
  readonly termMs: number | null
}

interface Definition<Input extends z.ZodType> {
  readonly name: string
  readonly description: string
  readonly effect: ToolEffect
  readonly input: Input
  run(input: z.output<Input>, context: ToolContext): Promise<string | ToolOutput>
}

/** Creates a tool that validates its input. */
export function defineTool<Input extends z.ZodType>(definition: Definition<Input>): Tool {
  const { name, description, effect } = definition
  let schema: Record<string, unknown> | undefined
  return {
    name,
    description,
    effect,
    schema: () => (schema ??= toJsonSchema(definition.input)),
    run: (input, context) => {
      const checked = definition.input.safeParse(input)
      if (!checked.success) throw new ToolError(`invalid input: ${z.prettifyError(checked.error)}`)
      return definition.run(checked.data, context)
    },
  }
}

/** The schema of the input as the model writes it: fields with defaults are optional. */
function toJsonSchema(input: z.ZodType): Record<string, unknown> {
  const { $schema: _, ...schema } = z.toJSONSchema(input, { io: 'input' })
  return schema
}
