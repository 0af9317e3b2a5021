// process-meta.json: what the model was told about itself and its tools. What the tools of reeve are comes from the code,
// what those of MCP servers were from the journal. Loaded when something is exported. Test: test/e2e/archive.test.ts.
import { isAllowed } from '../../kernel/tool-names.ts'
import type { McpState } from '../../kernel/facts.ts'
import type { Process } from '../../kernel/types.ts'

export async function metaOf({ uuid, spec }: Process, mcp: readonly McpState[]): Promise<object> {
  const { agent, driver, model, fallback = [], effort = null, system, intent, tools, deny, capabilities, argv, limits } = spec
  return {
    version: 1, uuid, agent, driver, model, fallback, effort, system, intent, argv, limits,
    allowed: tools, denied: deny, ...(capabilities && { capabilities }),
    tools: driver === 'native' ? await ownTools(spec) : [],
    mcp: mcp.map((server) => ({ ...server, tools: server.tools.filter(({ name }) => isAllowed(name, spec)) })),
  }
}

async function ownTools(spec: Process['spec']): Promise<object[]> {
  const { Toolbox } = await import('../../drivers/native/tools/toolbox.ts')
  return new Toolbox(spec).offered().map(({ name, description, schema }) => ({ name, description, schema }))
}
