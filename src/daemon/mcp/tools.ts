// All tools of reeve's own, in the order in which a model reads them. Test: test/tables/mcp-own-tools.test.ts.
import { COORDINATOR_TOOLS } from './coordinator-tools.ts'
import { MESSAGE_TOOLS } from './message-tools.ts'
import { PROCESS_TOOLS } from './process-tools.ts'
import { WORKER_TOOLS } from './worker-tools.ts'
import type { OwnDefinition } from './tool.ts'

export const OWN_TOOLS: readonly OwnDefinition[] = [...WORKER_TOOLS, ...COORDINATOR_TOOLS, ...PROCESS_TOOLS, ...MESSAGE_TOOLS]
