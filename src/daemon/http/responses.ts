// The schemas of all API responses, by the name that a route gives them. They are used for the API document, for tests, and to generate
// the types of src/api/views (scripts/views.ts). The daemon does not validate its responses, and loads the schemas only for the document.
// Test: test/e2e/daemon/openapi.test.ts.
import { agentAnswers } from './responses/agents.ts'
import { archiveAnswers } from './responses/archive.ts'
import { batchAnswers } from './responses/batch.ts'
import { composeAnswers } from './responses/compose.ts'
import { contextAnswers } from './responses/context.ts'
import { crewDiffAnswers } from './responses/crew/diff.ts'
import { crewReportAnswers } from './responses/crew/report.ts'
import { crewUpAnswers } from './responses/crew/up.ts'
import { crewAnswers } from './responses/crew/crew.ts'
import { daemonAnswers } from './responses/daemon.ts'
import { diffAnswers } from './responses/diff.ts'
import { gcAnswers } from './responses/gc.ts'
import { heartbeatAnswers } from './responses/heartbeat.ts'
import { lineageAnswers } from './responses/lineage.ts'
import { mcpAnswers } from './responses/mcp.ts'
import { needAnswers } from './responses/needs.ts'
import { placeAnswers } from './responses/places.ts'
import { processAnswers } from './responses/process.ts'
import { resumeAnswers } from './responses/resume.ts'
import { roleAnswers } from './responses/crew/roles.ts'
import { rowAnswers } from './responses/rows.ts'
import { searchAnswers } from './responses/search.ts'
import { stakesAnswers } from './responses/stakes.ts'
import { webAnswers } from './responses/web.ts'
import { spanAnswers } from './responses/spans.ts'
import { stepAnswers } from './responses/steps.ts'
import { usageAnswers } from './responses/usage.ts'

export const responseSchemas = {
  ...processAnswers,
  ...diffAnswers,
  ...rowAnswers,
  ...resumeAnswers,
  ...lineageAnswers,
  ...gcAnswers,
  ...archiveAnswers,
  ...composeAnswers,
  ...usageAnswers,
  ...spanAnswers,
  ...batchAnswers,
  ...contextAnswers,
  ...searchAnswers,
  ...stakesAnswers,
  ...needAnswers,
  ...stepAnswers,
  ...mcpAnswers,
  ...heartbeatAnswers,
  ...agentAnswers,
  ...placeAnswers,
  ...daemonAnswers,
  ...roleAnswers,
  ...crewAnswers,
  ...crewUpAnswers,
  ...crewReportAnswers,
  ...crewDiffAnswers,
  ...webAnswers,
}

export type ResponseSchemas = typeof responseSchemas
