// Which calls of an agent of others are of reeve's own tools, so that nobody is asked: by how each agent tells them, and never by what a
// model could write.
import { describe, expect, test } from 'vitest'
import { isOwnTool } from '../../src/drivers/acp/policy.ts'

const OWN = ['ps', 'send']
const NOBODY = { title: null, name: null, kind: null }

describe('allowed', () => {
  test.each([
    ['Claude Code', { title: 'mcp__reeve__ps', name: 'mcp__reeve__ps', kind: 'other' }, { any: 1 }],
    ['Gemini CLI', { ...NOBODY, title: 'send (reeve MCP Server)', kind: 'other' }, {}],
    ['OpenCode', { ...NOBODY, title: 'reeve_ps', kind: 'other' }, {}],
    ['Codex', { ...NOBODY, title: 'ps', kind: 'execute' }, { server: 'reeve', tool: 'ps', arguments: {} }],
  ] as const)('as %s tells it', (_, asked, input) => {
    expect(isOwnTool(asked, OWN, input)).toBe(true)
  })
})

describe('not allowed', () => {
  test.each([
    ['a tool that it does not have', { ...NOBODY, name: 'mcp__reeve__spawn' }, {}],
    ['a tool of another server', { ...NOBODY, name: 'mcp__other__ps' }, {}],
    ['words around the name', { ...NOBODY, title: 'mcp__reeve__ps; rm -rf .', kind: 'other' }, {}],
    ['a file of that name', { ...NOBODY, title: 'reeve/send', kind: 'edit' }, {}],
    ['a shell command of that name', { ...NOBODY, title: 'reeve/ps', kind: 'execute' }, { command: 'reeve/ps' }],
    ['a shell whose input says that it is one', { ...NOBODY, title: 'rm -rf .', kind: 'execute' }, { command: 'rm -rf .', server: 'reeve', tool: 'ps' }],
    ['another server by Codex', { ...NOBODY, title: 'ps', kind: 'execute' }, { server: 'other', tool: 'ps', arguments: {} }],
    ['nothing at all', NOBODY, null],
  ] as const)('%s', (_, asked, input) => {
    expect(isOwnTool(asked, OWN, input)).toBe(false)
  })
})
