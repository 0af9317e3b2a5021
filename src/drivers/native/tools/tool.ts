// What a tool is: a name, an effect class, an input that is checked, and a function that gives a text (and pictures). A tool never
// decides whether it may run; toolbox.ts does. Tests: test/tables/native-tools.test.ts, test/e2e/native-bash.test.ts.
import { z } from 'zod'
import type { ImagePart } from '../../../kernel/facts.ts'
import type { Places } from '../../../kernel/permits.ts'
import type { ToolEffect } from '../../../kernel/types.ts'
import type { Containment } from '../../contain/contain.ts'
import type { Freezer } from './freezer.ts'

/** Where a call runs. */
export interface ToolContext {
  /** the same where a call is made again after a crash */
  readonly callId: string
  readonly cwd: string
  /** where it may read and write files; absent: wherever the user may */
  readonly places?: Places
  /** the whole environment of programs; without keys */
  readonly env: Readonly<Record<string, string>>
  readonly containment: Containment
  readonly freezer: Freezer
  readonly signal: AbortSignal
  /** the incarnation ends: its containment ends the programs, with the patience that was asked for */
  readonly ending: AbortSignal
  /** shown while it happens */
  output(text: string): void
}

/** A call that failed in a way the model shall read. */
export class ToolError extends Error {}

/** What a call gave: a text, and pictures for models that can look at them. */
export interface ToolOutput {
  readonly text: string
  readonly images: readonly ImagePart[]
}

export interface Tool {
  readonly name: string
  readonly description: string
  readonly effect: ToolEffect
  /** the daemon has decided that it is to be had, whatever the lists say */
  readonly given?: true
  /** JSON Schema of the input */
  schema(): Readonly<Record<string, unknown>>
  /** Errors: `ToolError` for an input that does not fit, or what the tool itself says. */
  run(input: unknown, at: ToolContext): Promise<string | ToolOutput>
}

/** Tools that come and go while the agent runs: those of its MCP servers. */
export interface ToolSource {
  /** Resolves when all are there that will be. Never rejects. */
  ready(): Promise<void>
  /** the same array as long as they are the same */
  tools(): readonly Tool[]
  /** Ends what holds them, as patiently as told. */
  close(patience: Patience): Promise<void>
}

/** How long to wait for a program after its input has ended, and after SIGTERM; null: no signal, somebody else sees to that. */
export interface Patience {
  readonly stdinMs: number
  readonly termMs: number | null
}

interface Definition<Input extends z.ZodType> {
  readonly name: string
  readonly description: string
  readonly effect: ToolEffect
  readonly input: Input
  run(input: z.output<Input>, at: ToolContext): Promise<string | ToolOutput>
}

export function defineTool<Input extends z.ZodType>(definition: Definition<Input>): Tool {
  const { name, description, effect } = definition
  let schema: Record<string, unknown> | undefined
  return {
    name, description, effect,
    schema: () => (schema ??= toJsonSchema(definition.input)),
    run: (input, at) => {
      const checked = definition.input.safeParse(input)
      if (!checked.success) throw new ToolError(`the input does not fit: ${z.prettifyError(checked.error)}`)
      return definition.run(checked.data, at)
    },
  }
}

/** As the model writes it: defaults may be left out. */
function toJsonSchema(input: z.ZodType): Record<string, unknown> {
  const { $schema: _, ...schema } = z.toJSONSchema(input, { io: 'input' })
  return schema
}
