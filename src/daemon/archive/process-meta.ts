// Makes process-meta.json of an export: the agent's settings, and the tools that its model was offered. The tools of reeve are described
// by the code, the tools of MCP servers by the journal. Loaded only when a process is exported. Test: test/e2e/daemon/archive.test.ts.
import { isToolAllowed } from '../../kernel/state/tool-lists.ts'
import type { McpState } from '../../kernel/model/facts.ts'
import type { Process } from '../../kernel/model/process.ts'

/** Returns the content of the file. `mcp` are the servers as last reported. */
export async function processMetaOf({ uuid, spec }: Process, mcp: readonly McpState[]): Promise<object> {
  const { agent, driver, model, fallback = [], effort = null, system, intent, tools, deny, capabilities, argv, limits } = spec
  return {
    version: 1,
    uuid,
    agent,
    driver,
    model,
    fallback,
    effort,
    system,
    intent,
    argv,
    limits,
    allowed: tools,
    denied: deny,
    ...(capabilities && { capabilities }),
    tools: driver === 'native' ? await nativeTools(spec) : [],
    mcp: mcp.map((server) => ({ ...server, tools: server.tools.filter(({ name }) => isToolAllowed(name, spec)) })),
  }
}

/** Describes the tools of a native agent. */
async function nativeTools(spec: Process['spec']): Promise<object[]> {
  const { Toolbox } = await import('../../drivers/native/tools/toolbox.ts')
  return new Toolbox(spec).offeredTools().map(({ name, description, schema }) => ({ name, description, schema }))
}
