// The tools of one agent: the one place where it is decided which of them it may use. Turns every end of a call into an
// outcome and a bounded text; nothing that a tool throws gets past here. Test: test/tables/native-tools.test.ts.
import type { CapabilityName, ImagePart, ToolOutcome } from '../../../kernel/facts.ts'
import type { ProcessSpec, ToolEffect } from '../../../kernel/types.ts'
import { INTERRUPTED_CALL } from '../../../kernel/closing.ts'
import type { ToolCall } from '../context.ts'
import type { OfferedTool } from '../model.ts'
import { isAllowed } from '../../../kernel/tool-names.ts'
import { bash } from './bash.ts'
import { clip } from './clip.ts'
import { edit } from './edit.ts'
import { glob } from './glob.ts'
import { grep } from './grep.ts'
import { ls } from './ls.ts'
import { read } from './read.ts'
import { RefusedError } from './reach.ts'
import type { Patience, Tool, ToolContext, ToolOutput, ToolSource } from './tool.ts'
import { write } from './write.ts'

const TOOLS: readonly Tool[] = [read, write, edit, ls, glob, grep, bash]
const NONE: readonly Tool[] = []

export interface CallEnd {
  readonly outcome: ToolOutcome
  readonly content: string
  readonly images?: readonly ImagePart[]
  /** it asked for what it may not do */
  readonly refused?: { readonly what: CapabilityName; readonly detail: string }
}

export class Toolbox {
  readonly #spec: Pick<ProcessSpec, 'tools' | 'deny'>
  readonly #more: ToolSource | null
  #known: readonly Tool[] | null = null
  #tools: readonly Tool[] = []
  #offered: readonly OfferedTool[] = []

  /** `more` are tools that come and go. */
  constructor(spec: Pick<ProcessSpec, 'tools' | 'deny'>, more: ToolSource | null = null) {
    this.#spec = spec
    this.#more = more
  }

  /** Resolves when all tools are there that will be. Never rejects. */
  async ready(): Promise<void> {
    await this.#more?.ready()
  }

  async close(patience: Patience): Promise<void> {
    await this.#more?.close(patience)
  }

  /** what the model is told of: the same array as long as that is the same */
  offered(): readonly OfferedTool[] {
    this.#look()
    return this.#offered
  }

  /** A name that is no tool does nothing, so it may be repeated; one of a server may be a tool again when it is called. */
  effect(name: string): ToolEffect {
    this.#look()
    return this.#tools.find((tool) => tool.name === name)?.effect ?? (isMcp(name) ? 'once' : 'read')
  }

  /** Never rejects. */
  async run(call: ToolCall, at: ToolContext): Promise<CallEnd> {
    this.#look()
    const tool = this.#tools.find((each) => each.name === call.name)
    if (tool === undefined || !this.#has(tool)) return this.#refusal(call.name)
    try {
      return okEnd(await tool.run(call.input, at))
    } catch (error) {
      const said = error instanceof Error ? error.message : String(error)
      if (error instanceof RefusedError) return { outcome: 'denied', content: clip(said), refused: { what: error.what, detail: `${tool.name}: ${said}` } }
      if (!at.signal.aborted) return { outcome: 'error', content: clip(said) }
      if (tool.effect === 'read') return { outcome: 'error', content: 'not finished: the turn was interrupted' }
      return { outcome: 'interrupted', content: clip(`${INTERRUPTED_CALL}\n\n${said}`) }
    }
  }

  #has({ name, given }: Tool): boolean {
    return given === true || isAllowed(name, this.#spec)
  }

  #refusal(name: string): CallEnd {
    if (this.#tools.some((tool) => tool.name === name)) return { outcome: 'denied', content: `the tool "${name}" is denied to this agent`, refused: { what: 'tools', detail: name } }
    const names = this.#offered.map((tool) => tool.name).join(', ') || 'none'
    return { outcome: 'error', content: `there is no tool "${name}"; there are: ${names}` }
  }

  #look(): void {
    const more = this.#more?.tools() ?? NONE
    if (more === this.#known) return
    this.#known = more
    this.#tools = [...TOOLS, ...more]
    this.#offered = this.#tools.filter((tool) => this.#has(tool)).map((tool) => ({ name: tool.name, description: tool.description, schema: tool.schema() }))
  }
}

function isMcp(name: string): boolean {
  return name.startsWith('mcp__')
}

function okEnd(output: string | ToolOutput): CallEnd {
  const { text, images } = typeof output === 'string' ? { text: output, images: [] } : output
  return { outcome: 'ok', content: clip(text) || '(no output)', ...(images.length > 0 ? { images } : {}) }
}
