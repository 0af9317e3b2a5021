// Marks the keys in the environment of the client as known in the list of agents. The daemon does not know these keys: a run sends them.
// Reads only the names of the keys. Pure. Test: test/tables/api/client/mark-client-keys.test.ts.
import type { AgentsView, AgentView, KeyState } from '../views/agents.ts'

type Env = Readonly<Record<string, string | undefined>>

export function markClientKeys(answer: AgentsView, env: Env): AgentsView {
  const keys = Object.fromEntries(
    Object.entries(answer.keys).map(([name, state]): [string, KeyState] => [name, env[name] ? 'environment' : state]),
  )
  return {
    ...answer,
    keys,
    agents: answer.agents.map((agent) => ({ ...withKnownKeys(agent, keys), login: withKnownLogin(agent.login, env) })),
  }
}

/** Makes an agent usable if only missing keys prevented that. `needs` is empty if anything else prevents its run. */
function withKnownKeys(agent: AgentView, keys: AgentsView['keys']): AgentView {
  if (agent.usable || agent.needs.length === 0 || agent.needs.some((name) => keys[name] === 'missing')) return agent
  return { ...agent, usable: true, reason: null }
}

function withKnownLogin(login: AgentView['login'], env: Env): AgentView['login'] {
  return login?.key && env[login.key] ? { ...login, state: 'key' } : login
}
