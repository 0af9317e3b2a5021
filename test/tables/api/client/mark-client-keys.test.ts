// The list of agents takes account of the keys in the environment of the client.
import { expect, test } from 'vitest'
import { markClientKeys } from '../../../../src/api/client/mark-client-keys.ts'
import type { AgentsView, AgentView, KeyState } from '../../../../src/api/views/agents.ts'

const makeAgent = (name: string, needs: string[], reason: string | null): AgentView => ({
  name,
  description: '',
  driver: 'native',
  command: null,
  model: null,
  usesModel: null,
  fallback: null,
  effort: null,
  tools: null,
  deny: [],
  mcp: null,
  capabilities: { paths: { read: null, write: null }, network: 'on', signals: 'subtree', spawns: null },
  limits: {},
  source: 'user',
  file: null,
  unsupported: [],
  needs,
  usable: reason === null,
  reason,
  resumes: 'context',
  forks: 'any step',
  converses: true,
  install: null,
  login: null,
})

const agentsAnswer = (agents: AgentView[], keys: Record<string, KeyState>): AgentsView => ({ version: 1, agents, errors: [], keys })

test.each([
  ['an agent is usable if its key is in the environment', makeAgent('a', ['K'], 'K is not set'), { K: 'v' }, true],
  ['an agent is not usable if its key is empty in the environment', makeAgent('a', ['K'], 'K is not set'), { K: '' }, false],
  ['an agent is not usable if its key is missing', makeAgent('a', ['K'], 'K is not set'), { OTHER: 'v' }, false],
  ['an agent stays unusable for another reason than a key', makeAgent('a', [], 'no model is configured'), { K: 'v' }, false],
  ['an agent stays usable', makeAgent('a', ['FILE'], null), {}, true],
])('%s', (_, agent, env, usable) => {
  const merged = markClientKeys(agentsAnswer([agent], { K: 'missing', FILE: 'credentials.yaml' }), env)
  expect(merged.agents[0]).toMatchObject({ usable, reason: usable ? null : agent.reason })
})

test.each([
  ['K', { K: 'v' }, 'key'],
  ['K', { K: '' }, 'not checked'],
  [null, { K: 'v' }, 'not checked'],
] as const)('an external agent that takes the key %s, with %j, has the login: %s', (key, env, state) => {
  const agent: AgentView = { ...makeAgent('a', [], null), login: { state: 'not checked', command: 'a login', key } }
  expect(markClientKeys(agentsAnswer([agent], {}), env).agents[0]).toEqual({ ...agent, login: { ...agent.login, state } })
})

test('a key in the environment has precedence, as in a run', () => {
  expect(markClientKeys(agentsAnswer([], { A: 'missing', B: 'keyCommand', C: 'missing' }), { A: 'v', B: 'v' }).keys).toEqual({
    A: 'environment',
    B: 'environment',
    C: 'missing',
  })
})
