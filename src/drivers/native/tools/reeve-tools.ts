// Offers reeve's own tools to a native agent. These tools are called directly in the daemon, without an MCP server in between.
// Test: test/e2e/mcp/native.test.ts.
import { ToolError } from './tool-error.ts'
import type { OwnTools } from '../../port.ts'
import type { EndWaits, Tool, ToolSource } from './tool.ts'

function convertOwnTools(own: OwnTools): readonly Tool[] {
  return own.list.map(({ name, description, effect, schema }) => ({
    name,
    description,
    effect,
    schema,
    isGranted: true as const,
    run: async (input, { callId, signal, output }) => {
      const { text, isError } = await own.call({ name, input, id: callId, signal, progress: output })
      if (isError) throw new ToolError(text)
      return text
    },
  }))
}

/** Combines reeve's own tools with those of the MCP servers, which may change while the agent runs. */
export function withOwnTools(own: OwnTools, servers: ToolSource | null): ToolSource {
  const ownTools = convertOwnTools(own)
  let lastServerTools: readonly Tool[] | null = null
  let allTools: readonly Tool[] = ownTools
  return {
    ready: () => servers?.ready() ?? Promise.resolve(),
    close: (waits: EndWaits) => servers?.close(waits) ?? Promise.resolve(),
    tools: () => {
      const serverTools = servers?.tools() ?? null
      if (serverTools === null || serverTools === lastServerTools) return allTools
      lastServerTools = serverTools
      // A tool of a user's server that has the name of one of reeve's own tools is left out.
      const names = new Set(ownTools.map(({ name }) => name))
      allTools = [...ownTools, ...serverTools.filter(({ name }) => !names.has(name))]
      return allTools
    },
  }
}
