// The permissions that result from the arguments of `--allow` and `--deny`, and from the keys of agent files.
import { describe, expect, test } from 'vitest'
import { parseAgent } from '../../../src/config/agents/agent-file.ts'
import { applyResumeRules, applySpawnRules, driverDependentRules, invalidRuleMessage } from '../../../src/config/permissions.ts'

describe('an agent file has the permissions of its keys', () => {
  const parseFrontMatter = (frontMatter: string): unknown => {
    const parsed = parseAgent(`---\n${frontMatter}\n---\n`, '/a/x.md', 'project')
    return parsed.ok ? (parsed.value.capabilities ?? {}) : `${parsed.problem.line}: ${parsed.problem.message}`
  }

  test.each<[string, unknown]>([
    ['description: x', {}],
    ['paths: { read: [.], write: [./src, ~/out] }', { paths: { read: ['.'], write: ['./src', '~/out'] } }],
    ['paths: { write: build }', { paths: { write: ['build'] } }],
    ['paths: { write: [] }', { paths: { write: [] } }],
    ['network: off', { network: 'off' }],
    ['network: false', { network: 'off' }],
    ['network: on', {}],
    ['signals: children\nspawns: [coder, command]', { signals: 'children', spawns: ['coder', 'command'] }],
    ['signals: subtree\nspawns: none', { spawns: [] }],
    ['driver: command\ncommand: [make]\nnetwork: off', { network: 'off' }],
    ['driver: command\ncommand: [make]\npaths: { read: [.] }', '4: paths: the driver command does not support it'],
    ['paths: { reads: [.] }', expect.stringMatching(/^2: /)],
    ['network: maybe', '2: network: expected on or off'],
    ['signals: all', expect.stringMatching(/^2: signals/)],
    ['spawns: 3', '2: spawns: expected a list of names of agents, or none'],
  ])('%j', (frontMatter, expected) => {
    expect(parseFrontMatter(frontMatter)).toEqual(expected)
  })
})

const AGENT = {
  tools: ['read'],
  deny: ['bash'],
  capabilities: { paths: { read: ['.'], write: ['src'] }, network: 'off' as const, spawns: ['coder'] },
}
const FREE = { tools: null, deny: [] }

describe('the permissions at a spawn', () => {
  test.each<[string[] | undefined, string[] | undefined, object, object]>([
    [undefined, undefined, FREE, FREE],
    [undefined, undefined, AGENT, AGENT],
    [['ls'], undefined, AGENT, { ...AGENT, tools: ['ls'] }],
    [[], undefined, AGENT, { ...AGENT, tools: [] }],
    [
      ['read:/a', 'network'],
      undefined,
      AGENT,
      { tools: ['read'], deny: ['bash'], capabilities: { paths: { read: ['/a'], write: ['src'] }, spawns: ['coder'] } },
    ],
    [
      ['write:x', 'write:y'],
      ['network', 'spawn', 'signal', 'grep'],
      FREE,
      { tools: null, deny: ['grep'], capabilities: { paths: { write: ['x', 'y'] }, network: 'off', signals: 'none', spawns: [] } },
    ],
    [['spawn:coder', 'spawn:command'], undefined, FREE, { ...FREE, capabilities: { spawns: ['coder', 'command'] } }],
    [['spawn'], undefined, AGENT, { ...AGENT, capabilities: { paths: AGENT.capabilities.paths, network: 'off' } }],
    [['network'], ['network'], FREE, { ...FREE, capabilities: { network: 'off' } }],
  ])('follow from `--allow` %j and `--deny` %j', (allow, deny, agent, expected) => {
    expect(applySpawnRules(agent as typeof FREE, { ...(allow && { allow }), ...(deny && { deny }) })).toEqual(expected)
  })
})

describe('the permissions at a resume', () => {
  test.each<[string[], string[], object, object]>([
    [['ls'], [], AGENT, { ...AGENT, tools: ['read', 'ls'] }],
    [['ls'], [], FREE, FREE],
    [['bash'], [], { ...FREE, deny: ['Bash', 'grep'] }, { ...FREE, deny: ['grep'] }],
    [
      ['bash'],
      [],
      { ...FREE, deny: ['bash'], capabilities: { paths: { read: ['/a'] } } },
      {
        tools: ['read', 'write', 'edit', 'ls', 'glob', 'grep', 'bash', 'skill', 'mcp__*'],
        deny: [],
        capabilities: { paths: { read: ['/a'] } },
      },
    ],
    [
      ['read:/b', 'write:/b', 'network', 'spawn:reviewer'],
      [],
      AGENT,
      { ...AGENT, capabilities: { paths: { read: ['.', '/b'], write: ['src', '/b'] }, spawns: ['coder', 'reviewer'] } },
    ],
    [['read:/b', 'spawn:coder', 'signal'], [], FREE, FREE],
    [[], ['ls', 'network', 'spawn'], FREE, { tools: null, deny: ['ls'], capabilities: { network: 'off', spawns: [] } }],
  ])('follow from `--allow` %j and `--deny` %j', (allow, deny, before, expected) => {
    expect(applyResumeRules({ driver: 'native', ...(before as typeof FREE) }, { allow, deny })).toEqual(expected)
  })
})

test.each<[{ allow?: string[]; deny?: string[] }, unknown]>([
  [{ allow: ['read', 'read:/a', 'network', 'spawn:x'], deny: ['bash', 'spawn'] }, null],
  [{ allow: ['read:'] }, '`read:` names nothing'],
  [{ deny: ['write:/etc'] }, '`write:/etc` cannot be denied alone: allow the paths that it may write'],
  [{ deny: ['spawn:coder'] }, expect.stringContaining('deny `spawn`, or allow the agents')],
])('the arguments %j have the error %j', (request, message) => {
  expect(invalidRuleMessage(request)).toEqual(message)
})

test('a command refuses the permissions that depend on its driver', () => {
  expect(driverDependentRules(['network', 'spawn', 'spawn:x', 'signal', 'bash', 'read:/a'])).toEqual(['bash', 'read:/a'])
})
