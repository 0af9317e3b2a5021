// reeve's own tools as a native agent has them: called in the daemon, without a server between. Test: test/e2e/mcp-native.test.ts.
import { ToolError } from './tool.ts'
import type { OwnTools } from '../../port.ts'
import type { Patience, Tool, ToolSource } from './tool.ts'

function toolsOf(own: OwnTools): readonly Tool[] {
  return own.list.map(({ name, description, effect, schema }) => ({
    name, description, effect, schema, given: true as const,
    run: async (input, { callId, signal, output }) => {
      const { text, isError } = await own.call({ name, input, id: callId, signal, progress: output })
      if (isError) throw new ToolError(text)
      return text
    },
  }))
}

/** With those of its MCP servers, which come and go. */
export function withOwnTools(own: OwnTools, servers: ToolSource | null): ToolSource {
  const mine = toolsOf(own)
  let known: readonly Tool[] | null = null
  let all: readonly Tool[] = mine
  return {
    ready: () => servers?.ready() ?? Promise.resolve(),
    close: (patience: Patience) => servers?.close(patience) ?? Promise.resolve(),
    tools: () => {
      const theirs = servers?.tools() ?? null
      if (theirs === null || theirs === known) return all
      known = theirs
      // A server that somebody called `reeve` does not take their place.
      const names = new Set(mine.map(({ name }) => name))
      all = [...mine, ...theirs.filter(({ name }) => !names.has(name))]
      return all
    },
  }
}
