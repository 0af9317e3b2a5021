// The grammar of rules for tool calls, and rules that a shell could bypass.
import { describe, expect, test } from 'vitest'
import { ruleBypassProblem, hasPattern, parseToolRule, toolRuleProblem } from '../../../../src/kernel/state/tool-rules.ts'
import type { Permissions } from '../../../../src/kernel/model/spec-parts.ts'

describe('a rule', () => {
  test.each<[string, string, string | null]>([
    ['bash', 'bash', null],
    ['Bash(npm test:*)', 'bash', 'npm test:*'],
    ['edit( src/** )', 'edit', 'src/**'],
    ['bash(echo (x))', 'bash', 'echo (x)'],
    ['mcp__db__query', 'mcp__db__query', null],
  ])('`%s` is valid', (text, tool, pattern) => {
    expect(parseToolRule(text)).toEqual({ tool, pattern })
  })

  test.each<[string, string | null]>([
    ['bash(npm test:*)', null],
    ['edit(src/**)', null],
    ['write(docs/*.md)', null],
    ['bash(npm test', 'closing bracket'],
    ['bash(x)y', 'closing bracket'],
    ['bash()', 'names nothing'],
    ['bash(:*)', 'names nothing'],
    ['read(.env)', 'read:PATH'],
    ['grep(src)', 'read:PATH'],
    ['mcp__db(x)', 'only write, edit, bash may have'],
    ['toString(x)', 'only write, edit, bash may have'],
  ])('the problem of the rule `%s` is: %s', (text, problem) => {
    expect(hasPattern(text)).toBe(true)
    if (problem === null) expect(toolRuleProblem(text)).toBeNull()
    else expect(toolRuleProblem(text)).toContain(problem)
  })
})

describe('a rule that a shell could bypass', () => {
  const all = { tools: null, deny: [] }
  test.each<[string, Permissions, { tools: readonly string[] | null; deny: readonly string[] }, boolean]>([
    ['a denied path beside a shell that does not ask', { default: 'allow', deny: ['edit(x)'] }, all, true],
    ['a denied command beside a shell that does not ask', { default: 'allow', deny: ['bash(rm:*)'] }, all, true],
    ['a question about a path', { default: 'allow', ask: ['write(x)'] }, all, true],
    ['a shell that a rule allows', { default: 'ask', allow: ['bash'], deny: ['edit(x)'] }, all, true],
    ['a shell that asks', { default: 'ask', deny: ['edit(x)'] }, all, false],
    ['a shell that a rule asks about', { default: 'allow', ask: ['bash'], deny: ['edit(x)'] }, all, false],
    ['a shell that a rule denies', { default: 'allow', deny: ['bash', 'edit(x)'] }, all, false],
    ['a shell that the agent does not have', { default: 'allow', deny: ['edit(x)'] }, { tools: ['edit'], deny: [] }, false],
    ['a shell that is a denied tool', { default: 'allow', deny: ['edit(x)'] }, { tools: null, deny: ['bash'] }, false],
    ['allowed commands only', { default: 'ask', allow: ['bash(npm test:*)'], deny: ['edit(x)'] }, all, false],
    ['no rule with a pattern', { default: 'allow', deny: ['edit'] }, all, false],
  ])('is found only where a shell can bypass it: %s', (_, permissions, lists, isBypassable) => {
    expect(ruleBypassProblem(permissions, lists) !== null).toBe(isBypassable)
  })
})
