// The tools of one agent: the one place where it is decided which of them it may use. Turns every end of a call into an
// outcome and a bounded text; nothing that a tool throws gets past here. Test: test/tables/native-tools.test.ts.
import type { ImagePart, ToolOutcome } from '../../../kernel/facts.ts'
import type { ProcessSpec, ToolEffect } from '../../../kernel/types.ts'
import { INTERRUPTED_CALL } from '../../../kernel/spawning.ts'
import type { ToolCall } from '../context.ts'
import type { OfferedTool } from '../model.ts'
import { bash } from './bash.ts'
import { clip } from './clip.ts'
import { edit } from './edit.ts'
import { glob } from './glob.ts'
import { grep } from './grep.ts'
import { ls } from './ls.ts'
import { read } from './read.ts'
import type { Tool, ToolContext, ToolOutput } from './tool.ts'
import { write } from './write.ts'

const TOOLS: readonly Tool[] = [read, write, edit, ls, glob, grep, bash]

export interface CallEnd {
  readonly outcome: ToolOutcome
  readonly content: string
  readonly images?: readonly ImagePart[]
}

export class Toolbox {
  readonly #allowed: readonly Tool[]
  #offered: readonly OfferedTool[] | undefined

  constructor(spec: Pick<ProcessSpec, 'tools' | 'deny'>) {
    this.#allowed = TOOLS.filter((tool) => isAllowed(tool.name, spec))
  }

  /** what the model is told of */
  offered(): readonly OfferedTool[] {
    return (this.#offered ??= this.#allowed.map((tool) => ({ name: tool.name, description: tool.description, schema: tool.schema() })))
  }

  /** A name that is no tool does nothing, so it may be repeated. */
  effect(name: string): ToolEffect {
    return TOOLS.find((tool) => tool.name === name)?.effect ?? 'read'
  }

  /** Never rejects. */
  async run(call: ToolCall, at: ToolContext): Promise<CallEnd> {
    const tool = this.#allowed.find((each) => each.name === call.name)
    if (tool === undefined) return this.#refusal(call.name)
    try {
      return okEnd(await tool.run(call.input, at))
    } catch (error) {
      const said = error instanceof Error ? error.message : String(error)
      if (!at.signal.aborted) return { outcome: 'error', content: clip(said) }
      if (tool.effect === 'read') return { outcome: 'error', content: 'not finished: the turn was interrupted' }
      return { outcome: 'interrupted', content: clip(`${INTERRUPTED_CALL}\n\n${said}`) }
    }
  }

  #refusal(name: string): CallEnd {
    if (TOOLS.some((tool) => tool.name === name)) return { outcome: 'denied', content: `the tool "${name}" is denied to this agent` }
    const names = this.#allowed.map((tool) => tool.name).join(', ') || 'none'
    return { outcome: 'error', content: `there is no tool "${name}"; there are: ${names}` }
  }
}

function okEnd(output: string | ToolOutput): CallEnd {
  const { text, images } = typeof output === 'string' ? { text: output, images: [] } : output
  return { outcome: 'ok', content: clip(text) || '(no output)', ...(images.length > 0 ? { images } : {}) }
}

/** Agent files write names in either case (`Read`, `read`). */
function isAllowed(name: string, spec: Pick<ProcessSpec, 'tools' | 'deny'>): boolean {
  const names = (list: readonly string[]): boolean => list.some((each) => each.toLowerCase() === name)
  return (spec.tools === null || names(spec.tools)) && !names(spec.deny)
}
