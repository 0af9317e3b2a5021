// The list of reeve's own tools, in the order in which models read them. Test: test/tables/daemon/mcp/own-tools.test.ts.
import { COORDINATOR_TOOLS } from './coordinator-tools.ts'
import { MESSAGE_TOOLS } from './message-tools.ts'
import { SIGNAL_TOOLS } from './signal-tools.ts'
import { PROCESS_TOOLS } from './process-tools.ts'
import { WORKER_TOOLS } from './worker-tools.ts'
import type { OwnToolDefinition } from './tool.ts'

export const OWN_TOOLS: readonly OwnToolDefinition[] = [
  ...WORKER_TOOLS,
  ...COORDINATOR_TOOLS,
  ...PROCESS_TOOLS,
  ...MESSAGE_TOOLS,
  ...SIGNAL_TOOLS,
]
