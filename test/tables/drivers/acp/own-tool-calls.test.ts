// A call of reeve's own tools needs no permission. Such a call is recognized by the names that the agent uses for its tools, never by text
// that a model could write.
import { describe, expect, test } from 'vitest'
import { isOwnTool } from '../../../../src/drivers/acp/policy.ts'

const OWN = ['ps', 'send']
const UNNAMED = { title: null, name: null, kind: null }

describe("a call of reeve's own tools is recognized", () => {
  test.each([
    ['Claude Code', { title: 'mcp__reeve__ps', name: 'mcp__reeve__ps', kind: 'other' }, { any: 1 }],
    ['Gemini CLI', { ...UNNAMED, title: 'send (reeve MCP Server)', kind: 'other' }, {}],
    ['OpenCode', { ...UNNAMED, title: 'reeve_ps', kind: 'other' }, {}],
    ['Codex', { ...UNNAMED, title: 'ps', kind: 'execute' }, { server: 'reeve', tool: 'ps', arguments: {} }],
  ] as const)('as %s reports it', (_, call, input) => {
    expect(isOwnTool(call, OWN, input)).toBe(true)
  })
})

describe("a call is not recognized as one of reeve's own tools", () => {
  test.each([
    ['a tool of reeve that the agent does not have', { ...UNNAMED, name: 'mcp__reeve__spawn' }, {}],
    ['a tool of another server', { ...UNNAMED, name: 'mcp__other__ps' }, {}],
    ['a title with more than the name', { ...UNNAMED, title: 'mcp__reeve__ps; rm -rf .', kind: 'other' }, {}],
    ['a file with the name of a tool', { ...UNNAMED, title: 'reeve/send', kind: 'edit' }, {}],
    ['a shell command with the name of a tool', { ...UNNAMED, title: 'reeve/ps', kind: 'execute' }, { command: 'reeve/ps' }],
    [
      'a shell command whose input has the name of a tool',
      { ...UNNAMED, title: 'rm -rf .', kind: 'execute' },
      { command: 'rm -rf .', server: 'reeve', tool: 'ps' },
    ],
    ['a call of another server by Codex', { ...UNNAMED, title: 'ps', kind: 'execute' }, { server: 'other', tool: 'ps', arguments: {} }],
    ['a call without any name', UNNAMED, null],
  ] as const)('%s', (_, call, input) => {
    expect(isOwnTool(call, OWN, input)).toBe(false)
  })
})
