// The list of agents with the keys in the environment of the client.
import { expect, test } from 'vitest'
import { markClientKeys } from '../../../../src/api/client/merge-client-keys.ts'
import type { AgentsView, AgentView, KeyState } from '../../../../src/api/views/agents.ts'

const agent = (name: string, needs: string[], reason: string | null): AgentView => ({
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

const answer = (agents: AgentView[], keys: Record<string, KeyState>): AgentsView => ({ version: 1, agents, errors: [], keys })

test.each([
  ['its key is in the environment', agent('a', ['K'], 'K is not set'), { K: 'v' }, true],
  ['its key is empty there', agent('a', ['K'], 'K is not set'), { K: '' }, false],
  ['its key is nowhere', agent('a', ['K'], 'K is not set'), { OTHER: 'v' }, false],
  ['something else is in its way', agent('a', [], 'no model is configured'), { K: 'v' }, false],
  ['nothing was in its way', agent('a', ['FILE'], null), {}, true],
])('%s', (_, one, env, usable) => {
  const found = markClientKeys(answer([one], { K: 'missing', FILE: 'credentials.yaml' }), env)
  expect(found.agents[0]).toMatchObject({ usable, reason: usable ? null : one.reason })
})

test.each([
  ['K', { K: 'v' }, 'key'],
  ['K', { K: '' }, 'not checked'],
  [null, { K: 'v' }, 'not checked'],
] as const)('an external agent that takes the key %s, with %j, has the login: %s', (key, env, state) => {
  const one: AgentView = { ...agent('a', [], null), login: { state: 'not checked', command: 'a login', key } }
  expect(markClientKeys(answer([one], {}), env).agents[0]).toEqual({ ...one, login: { ...one.login, state } })
})

test('a key in the environment has precedence, as in a run', () => {
  expect(markClientKeys(answer([], { A: 'missing', B: 'keyCommand', C: 'missing' }), { A: 'v', B: 'v' }).keys).toEqual({
    A: 'environment',
    B: 'environment',
    C: 'missing',
  })
})
