// The tools that two lists allow, as a table: names in either case, MCP servers as a whole, and stars.
import { expect, test } from 'vitest'
import { isToolAllowed, mayUseServer } from '../../../../src/kernel/state/tool-lists.ts'

const NAMES = ['read', 'bash', 'mcp__a__get_x', 'mcp__a__put', 'mcp__ab__get_y', 'mcp__My_Server__do']

test.each<[tools: readonly string[] | null, deny: readonly string[], left: readonly string[], servers: readonly string[]]>([
  [null, [], NAMES, ['a', 'ab', 'My_Server']],
  [[], [], [], []],
  [['Read'], [], ['read'], []],
  [['read', 'mcp__a'], [], ['read', 'mcp__a__get_x', 'mcp__a__put'], ['a']],
  [['mcp__a__*'], [], ['mcp__a__get_x', 'mcp__a__put'], ['a']],
  [['mcp__a__get_*'], [], ['mcp__a__get_x'], ['a']],
  [['mcp__a__put'], [], ['mcp__a__put'], ['a']],
  [['mcp__a*'], [], ['mcp__a__get_x', 'mcp__a__put', 'mcp__ab__get_y'], ['a', 'ab']],
  [['mcp__*'], ['mcp__ab'], ['mcp__a__get_x', 'mcp__a__put', 'mcp__My_Server__do'], ['a', 'My_Server']],
  [['mcp__my_server'], [], ['mcp__My_Server__do'], ['My_Server']],
  [null, ['mcp__a', 'bash'], ['read', 'mcp__ab__get_y', 'mcp__My_Server__do'], ['ab', 'My_Server']],
  [null, ['mcp__a__get_x'], ['read', 'bash', 'mcp__a__put', 'mcp__ab__get_y', 'mcp__My_Server__do'], ['a', 'ab', 'My_Server']],
  [null, ['mcp__*'], ['read', 'bash'], []],
  [['*'], ['b*'], [], []],
])('of the allowed list %j and the denied list %j these tools remain: %j', (tools, deny, expectedNames, servers) => {
  expect(NAMES.filter((name) => isToolAllowed(name, { tools, deny }))).toEqual(expectedNames)
  expect(['a', 'ab', 'My_Server'].filter((name) => mayUseServer(`mcp__${name}`, { tools, deny }))).toEqual(servers)
})
