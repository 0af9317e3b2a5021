// Schemas of the available agents and of the keys that they need, for src/api/views/agents.ts. Test: test/e2e/daemon/openapi.test.ts.
import { z } from 'zod'
import { limitsRule } from '../../../config/limit-rules.ts'
import { count, driver, effort, text, texts, version } from './fields.ts'
import { declaredCapabilities } from './process.ts'
import { RESUME_SOURCES } from '../../../kernel/model/words.ts'
import { AGENT_SOURCES } from '../../../config/agents/agent-file.ts'

export const keyState = z
  .enum(['environment', 'credentials.yaml', 'keyCommand', 'missing'])
  .describe('The source of a key. `keyCommand`: the key command of the user may return it; the command was not run.')

const agent = z
  .object({
    name: text,
    description: text,
    driver,
    command: texts.nullable().describe('the command line of an external agent; null for a native agent'),
    model: text.nullable().describe('the model of its file; null: the configured default model'),
    usesModel: text.nullable().describe('the model that it would use; null: none is configured'),
    needs: texts.describe('the names of the keys that `usesModel` needs'),
    resumes: z
      .enum(RESUME_SOURCES)
      .describe('how its ended processes are resumed: with their history, with their session, or from the beginning'),
    forks: z
      .enum(['any step', 'now', 'asked', 'no'])
      .describe('where its processes can be forked. `asked`: the agent reports that when it runs'),
    converses: z.boolean().describe('true: it takes messages while it runs, as `--interactive` and crews need'),
    usable: z.boolean().describe('true: no obstacle to its start is known; false: `reason` names the obstacle'),
    reason: text.nullable(),
    install: text.nullable().describe('the command that installs its missing program; null: unknown, or not missing'),
    login: z
      .object({ state: z.enum(['key', 'not checked']), command: text.nullable(), key: text.nullable() })
      .nullable()
      .describe('the login of an external agent: its state, and the command or the key for it; null: no login is needed'),
    fallback: texts.nullable(),
    effort: effort.nullable(),
    tools: texts.nullable().describe("null: the driver's default set"),
    deny: texts,
    mcp: texts.nullable().describe('the names of its MCP servers; null: all configured ones'),
    capabilities: declaredCapabilities.describe('the permissions in its file; their paths are relative to its working directory'),
    limits: limitsRule,
    source: z.enum(AGENT_SOURCES),
    file: text.nullable().describe('null for built-in agents'),
    unsupported: texts.describe('the settings of the agent file that reeve does not support'),
  })
  .meta({ id: 'AgentView', description: 'An available agent.' })

const problem = z.object({ file: text, line: count, message: text }).describe('An invalid agent file. `line` 0 means the file as a whole.')

const agents = z
  .object({ version, agents: z.array(agent), errors: z.array(problem), keys: z.record(text, keyState) })
  .describe(
    'The agents, and the sources of their keys. The daemon does not know the environment of the client, so the client library adds its keys.',
  )

export const agentAnswers = { agents }

export const AGENT_TYPES = { KeyState: keyState, AgentView: agent, AgentProblem: problem, AgentsView: agents }
