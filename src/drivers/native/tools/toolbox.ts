// The tools of one agent: those that its spec allows. Converts every result and error of a call to an outcome and a text of limited length.
// Test: test/tables/drivers/native/tools/file-tools.test.ts.
import type { CapabilityName, ImagePart, ToolOutcome } from '../../../kernel/model/facts.ts'
import { INTERRUPTED_CALL } from '../../../kernel/decide/close-open-calls.ts'
import type { ToolCall } from '../context/context.ts'
import { planTool } from '../permissions/plan.ts'
import type { OfferedTool } from '../models/model.ts'
import { isToolAllowed } from '../../../kernel/state/tool-lists.ts'
import { bash } from './bash.ts'
import { truncateMiddle } from '../../common/truncate-middle.ts'
import { FILE_TOOLS, fileWorkers } from './file-tools.ts'
import { RefusedError } from './tool-error.ts'
import { skillTool } from './skill.ts'
import type { EndWaits, Tool, ToolContext, ToolOutput, ToolSource } from './tool.ts'
import type { ToolEffect } from '../../../kernel/model/words.ts'
import type { NativeSpec, ProcessSpec } from '../../../kernel/model/process-spec.ts'
import { errorText } from '../../../kernel/util/error-text.ts'

const BUILT_IN_TOOLS: readonly Tool[] = [...FILE_TOOLS, bash]
const NO_TOOLS: readonly Tool[] = []

/** The result of a tool call. */
export interface ToolCallResult {
  readonly outcome: ToolOutcome
  readonly content: string
  readonly images?: readonly ImagePart[]
  readonly exitCode?: number
  /** the capability that the call needed and the agent does not have */
  readonly refused?: { readonly what: CapabilityName; readonly detail: string }
}

/** The fields of a spec that decide which tools there are. */
type ToolSpec = Pick<ProcessSpec, 'tools' | 'deny'> & Pick<NativeSpec, 'skills' | 'worktree' | 'permissions'>

export class Toolbox {
  readonly #spec: Pick<ProcessSpec, 'tools' | 'deny'>
  readonly #builtInTools: readonly Tool[]
  readonly #source: ToolSource | null
  #lastSourceTools: readonly Tool[] | null = null
  #tools: readonly Tool[] = []
  #offeredTools: readonly OfferedTool[] = []

  /** `source` provides the tools that may change while the agent runs; null if there are none. */
  constructor(spec: ToolSpec, source: ToolSource | null = null) {
    this.#spec = spec
    const skill = skillTool(spec, fileWorkers)
    this.#builtInTools = [...BUILT_IN_TOOLS, ...(skill ? [skill] : []), planTool(spec)]
    this.#source = source
  }

  /** Resolves when the source of further tools has started, with or without errors. Never rejects. */
  async ready(): Promise<void> {
    await this.#source?.ready()
  }

  async close(waits: EndWaits): Promise<void> {
    await this.#source?.close(waits)
  }

  /** The tools that the model may use: the same array until they change. */
  offeredTools(): readonly OfferedTool[] {
    this.#refresh()
    return this.#offeredTools
  }

  /**
   * The effect of a tool. An unknown tool does nothing, so its call may be repeated. But an unknown tool of an MCP server may exist again
   * when it is called.
   */
  effect(name: string): ToolEffect {
    this.#refresh()
    return this.#tools.find((tool) => tool.name === name)?.effect ?? (isMcpTool(name) ? 'once' : 'read')
  }

  /** Whether the permissions apply to a tool: it may be used, and the daemon has not granted it. */
  needsPermission(name: string): boolean {
    this.#refresh()
    const tool = this.#tools.find((each) => each.name === name)
    return tool !== undefined && tool.isGranted !== true && this.#mayUse(tool)
  }

  /** Runs a call, or refuses it. Never rejects. */
  async run(call: ToolCall, context: ToolContext): Promise<ToolCallResult> {
    this.#refresh()
    const tool = this.#tools.find((each) => each.name === call.name)
    if (tool === undefined || !this.#mayUse(tool)) return this.#refusal(call.name)
    try {
      return successResult(await tool.run(call.input, context))
    } catch (error) {
      const message = errorText(error)
      if (error instanceof RefusedError)
        return {
          outcome: 'denied',
          content: truncateMiddle(message),
          refused: { what: error.capability, detail: `${tool.name}: ${message}` },
        }
      if (!context.signal.aborted) return { outcome: 'error', content: truncateMiddle(message) }
      if (tool.effect === 'read') return { outcome: 'error', content: 'not finished: the turn was interrupted' }
      return { outcome: 'interrupted', content: truncateMiddle(`${INTERRUPTED_CALL}\n\n${message}`) }
    }
  }

  #mayUse({ name, isGranted }: Tool): boolean {
    return isGranted === true || isToolAllowed(name, this.#spec)
  }

  #refusal(name: string): ToolCallResult {
    if (this.#tools.some((tool) => tool.name === name))
      return { outcome: 'denied', content: `the tool "${name}" is denied to this agent`, refused: { what: 'tools', detail: name } }
    const names = this.#offeredTools.map((tool) => tool.name).join(', ') || 'none'
    return { outcome: 'error', content: `there is no tool "${name}"; the available tools are: ${names}` }
  }

  #refresh(): void {
    const sourceTools = this.#source?.tools() ?? NO_TOOLS
    if (sourceTools === this.#lastSourceTools) return
    this.#lastSourceTools = sourceTools
    this.#tools = [...this.#builtInTools, ...sourceTools]
    this.#offeredTools = this.#tools
      .filter((tool) => this.#mayUse(tool) && tool.isHidden !== true)
      .map((tool) => ({ name: tool.name, description: tool.description, schema: tool.schema() }))
  }
}

function isMcpTool(name: string): boolean {
  return name.startsWith('mcp__')
}

function successResult(output: string | ToolOutput): ToolCallResult {
  const { text, images, ...more } = typeof output === 'string' ? { text: output, images: [] } : output
  return { outcome: 'ok', content: truncateMiddle(text) || '(no output)', ...(images.length > 0 ? { images } : {}), ...more }
}
