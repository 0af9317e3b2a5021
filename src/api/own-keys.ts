// What a client adds to the daemon's list of agents: the keys of its own environment, which it would send along with a run.
// Names alone are looked at. Pure. Test: test/tables/own-keys.test.ts.
import type { AgentsView, AgentView, KeyState } from './views.ts'

type Env = Readonly<Record<string, string | undefined>>

export function withOwnKeys(answer: AgentsView, env: Env): AgentsView {
  const keys = Object.fromEntries(Object.entries(answer.keys).map(([name, state]): [string, KeyState] => [name, env[name] ? 'environment' : state]))
  return { ...answer, keys, agents: answer.agents.map((agent) => judged(agent, keys)) }
}

/** An agent has a list of keys only where nothing else is in its way. */
function judged(agent: AgentView, keys: AgentsView['keys']): AgentView {
  if (agent.usable || agent.needs.length === 0 || agent.needs.some((name) => keys[name] === 'missing')) return agent
  return { ...agent, usable: true, reason: null }
}
