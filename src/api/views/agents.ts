// The JSON of the API: the available agents, the sources of their keys, and the directories in which agents were started. Made by `npm run
// docs` from the schemas of the daemon (scripts/views.ts): do not edit. Test: test/e2e/external/agents-usable.test.ts.
import type { Effort } from '../../kernel/model/spec-parts.ts'
import type { DriverName, Limits } from '../../kernel/model/words.ts'
import type { PermitsView } from './process.ts'

/** The source of a key. `keyCommand`: the key command of the user may return it; the command was not run. */
export type KeyState = 'environment' | 'credentials.yaml' | 'keyCommand' | 'missing'

/** An available agent. */
export interface AgentView {
  name: string
  description: string
  driver: DriverName
  /** the command line of an external agent; null for a native agent */
  command: string[] | null
  /** the model of its file; null: the configured default model */
  model: string | null
  /** the model that it would use; null: none is configured */
  usesModel: string | null
  /** the names of the keys that `usesModel` needs */
  needs: string[]
  /** how its ended processes are resumed: with their history, with their session, or from the beginning */
  resumes: 'context' | 'session' | 'rerun'
  /** where its processes can be forked. `asked`: the agent reports that when it runs */
  forks: 'any step' | 'now' | 'asked' | 'no'
  /** true: it takes messages while it runs, as `--interactive` and crews need */
  converses: boolean
  /** true: no obstacle to its start is known; false: `reason` names the obstacle */
  usable: boolean
  reason: string | null
  /** the command that installs its missing program; null: unknown, or not missing */
  install: string | null
  /** the login of an external agent: its state, and the command or the key for it; null: no login is needed */
  login: {
    state: 'key' | 'not checked'
    command: string | null
    key: string | null
  } | null
  fallback: string[] | null
  effort: Effort | null
  /** null: the driver's default set */
  tools: string[] | null
  deny: string[]
  /** the names of its MCP servers; null: all configured ones */
  mcp: string[] | null
  /** the permissions in its file; their paths are relative to its working directory */
  capabilities: PermitsView
  limits: Limits
  source: 'project' | 'claude' | 'user' | 'built-in'
  /** null for built-in agents */
  file: string | null
  /** the settings of the agent file that reeve does not support */
  unsupported: string[]
}

/** An invalid agent file. `line` 0 means the file as a whole. */
export interface AgentProblem {
  file: string
  line: number
  message: string
}

/**
 * The agents, and the sources of their keys. The daemon does not know the environment of the client, so the client library adds its keys.
 */
export interface AgentsView {
  version: 1
  agents: AgentView[]
  errors: AgentProblem[]
  keys: Record<string, KeyState>
}

export interface PlaceView {
  /** a directory in which processes were started */
  dir: string
  exists: boolean
  /** the number of living processes that were started in it */
  living: number
  /** the number of processes that were started in it, of those that were read */
  processes: number
  lastUsedAt: string
  /** the agents that were used in it, the most recently used one first */
  agents: string[]
  /** true: `trusted` of config.yaml contains it or a directory above */
  trusted: boolean
}

export interface PlacesView {
  version: 1
  /** at most 200, the most recently used one first; from all living and the 500 newest ended processes */
  places: PlaceView[]
}
