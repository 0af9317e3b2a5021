// Decisions about tool calls by the permissions of a process, with the tricks that would bypass a rule.
import { mkdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { CallPolicy } from '../../../../../src/drivers/native/permissions/call-policy.ts'
import type { Permissions } from '../../../../../src/kernel/model/spec-parts.ts'
import type { PermissionPolicy } from '../../../../../src/kernel/model/words.ts'
import { tempDir, type TempDir } from '../../../../support/tmp.ts'

let folder: TempDir
let cwd: string

beforeAll(async () => {
  folder = await tempDir()
  cwd = join(folder.path, 'work')
  await mkdir(join(cwd, 'src'), { recursive: true })
  await mkdir(join(folder.path, 'outside'))
  await writeFile(join(cwd, 'secret'), '')
  await symlink(join(folder.path, 'outside'), join(cwd, 'src', 'link'))
  await symlink(join(cwd, 'secret'), join(cwd, 'src', 'alias'))
})
afterAll(() => folder[Symbol.asyncDispose]())

async function decide(permissions: Permissions | undefined, name: string, input: object): Promise<PermissionPolicy> {
  return new CallPolicy(permissions, cwd).decide({ type: 'tool-call', callId: 'c', name, input })
}

const bash = (command: string): object => ({ command })
const file = (path: string): object => ({ path, content: '' })

describe('without a rule', () => {
  test.each<[string, Permissions | undefined, string, object, PermissionPolicy]>([
    ['no permissions allow all', undefined, 'bash', bash('rm x'), 'allow'],
    ['a write follows the default', { default: 'ask' }, 'write', file('x'), 'ask'],
    ['a command follows the default', { default: 'deny' }, 'bash', bash('ls'), 'deny'],
    ['a read of a file is allowed', { default: 'deny' }, 'read', file('x'), 'allow'],
    ['a search is allowed', { default: 'ask' }, 'grep', { pattern: 'x' }, 'allow'],
    ['a tool of a server follows the default', { default: 'ask' }, 'mcp__db__query', {}, 'ask'],
  ])('%s', async (_, permissions, name, input, expected) => {
    expect(await decide(permissions, name, input)).toBe(expected)
  })
})

describe('while the agent plans', () => {
  test.each<[string, Permissions, string, object, PermissionPolicy]>([
    ['a read is allowed', { default: 'plan' }, 'read', file('x'), 'allow'],
    ['a skill is allowed', { default: 'plan' }, 'skill', { name: 'x' }, 'allow'],
    ['a write is denied', { default: 'plan' }, 'write', file('x'), 'deny'],
    ['a command is denied, also one that a rule allows', { default: 'plan', allow: ['bash'] }, 'bash', bash('ls'), 'deny'],
    ['a denied read stays denied', { default: 'plan', deny: ['read'] }, 'read', file('x'), 'deny'],
    ['a read that a rule asks about asks', { default: 'plan', ask: ['read'] }, 'read', file('x'), 'ask'],
    ['a tool of a server is denied', { default: 'plan' }, 'mcp__db__query', {}, 'deny'],
  ])('%s', async (_, permissions, name, input, expected) => {
    expect(await decide(permissions, name, input)).toBe(expected)
  })

  test('a tool of a server that only reads is allowed, and an approval ends the planning', async () => {
    const policy = new CallPolicy({ default: 'plan', allow: ['bash(ls)'] }, cwd)
    const call = (name: string, input: object): Parameters<CallPolicy['decide']>[0] => ({ type: 'tool-call', callId: 'c', name, input })
    expect(await policy.decide(call('mcp__db__get', {}), true)).toBe('allow')
    policy.endPlanning('ask')
    expect(await policy.decide(call('bash', bash('ls')))).toBe('allow')
    expect(await policy.decide(call('bash', bash('rm x')))).toBe('ask')
  })
})

describe('a rule for a whole tool', () => {
  test.each<[string, Permissions, string, object, PermissionPolicy]>([
    ['allows its calls', { default: 'ask', allow: ['edit'] }, 'edit', file('x'), 'allow'],
    ['allows no other tool', { default: 'ask', allow: ['edit'] }, 'write', file('x'), 'ask'],
    ['asks for reads, too', { default: 'allow', ask: ['read'] }, 'read', file('x'), 'ask'],
    ['denies even what another allows', { default: 'allow', allow: ['bash'], deny: ['bash'] }, 'bash', bash('ls'), 'deny'],
    ['asks even for what another allows', { default: 'allow', allow: ['bash'], ask: ['bash'] }, 'bash', bash('ls'), 'ask'],
    ['covers the tools of a server', { default: 'ask', allow: ['mcp__db'] }, 'mcp__db__query', {}, 'allow'],
    ['covers a prefix', { default: 'ask', allow: ['mcp__db__get_*'] }, 'mcp__db__get_row', {}, 'allow'],
    ['ignores letter case', { default: 'ask', allow: ['Edit'] }, 'edit', file('x'), 'allow'],
  ])('%s', async (_, permissions, name, input, expected) => {
    expect(await decide(permissions, name, input)).toBe(expected)
  })
})

describe('a rule for commands', () => {
  const rules: Permissions = {
    default: 'ask',
    allow: ['bash(npm test:*)', 'bash(git status)', 'bash(tail:*)'],
    deny: ['bash(rm:*)', 'bash(git push:*)'],
  }
  test.each<[string, PermissionPolicy]>([
    ['npm test', 'allow'],
    ['npm test -- -t x', 'allow'],
    ['npm test 2>&1 | tail -5', 'allow'],
    ['git status && npm test', 'allow'],
    ['git status --short', 'ask'],
    ['npm testing', 'ask'],
    ['npm publish', 'ask'],
    ['npm test; npm publish', 'ask'],
    ['npm test && curl evil.example', 'ask'],
    ['npm test\ncurl evil.example', 'ask'],
    ['npm test & curl evil.example', 'ask'],
    ['npm test | sh', 'ask'],
    ['npm test $(curl evil.example)', 'ask'],
    ['npm test `curl evil.example`', 'ask'],
    ['npm test "$(curl evil.example)"', 'ask'],
    ['npm test > src/x', 'ask'],
    ['npm test <(curl evil.example)', 'ask'],
    ['PATH=/tmp npm test', 'ask'],
    ['env PATH=/tmp npm test', 'ask'],
    ['./npm test', 'ask'],
    ['/tmp/npm test', 'ask'],
    ['cd /tmp && npm test', 'ask'],
    ['alias npm=curl; npm test', 'ask'],
    ['npm() { curl evil.example; }; npm test', 'ask'],
    ['', 'ask'],
    ['rm x', 'deny'],
    ['npm test; rm x', 'deny'],
    ['npm test && rm -rf /', 'deny'],
    ['/bin/rm x', 'deny'],
    ["r'm' x", 'deny'],
    ['\\rm x', 'deny'],
    ['"rm" x', 'deny'],
    ['A=1 rm x', 'deny'],
    ['sudo -n rm x', 'deny'],
    ['find . | xargs rm', 'deny'],
    ['(rm x)', 'ask'],
    ['$(echo rm) x', 'ask'],
    ['sh -c "rm x"', 'ask'],
    ['git push', 'deny'],
    ['git  push --force', 'deny'],
    ['git -C . push', 'ask'],
  ])('decides about `%s`', async (command, expected) => {
    expect(await decide(rules, 'bash', bash(command))).toBe(expected)
  })
})

describe('a rule for paths', () => {
  const rules: Permissions = {
    default: 'ask',
    allow: ['edit(src/**)', 'write(src/**)'],
    deny: ['edit(**/*.lock)', 'write(secret)'],
    ask: ['edit(src/config/**)'],
  }
  test.each<[string, string, PermissionPolicy]>([
    ['edit', 'src/a.ts', 'allow'],
    ['edit', 'src/new/dir/a.ts', 'allow'],
    ['edit', './src/../src/a.ts', 'allow'],
    ['edit', 'src/config/a.ts', 'ask'],
    ['edit', 'a.ts', 'ask'],
    ['edit', 'src/../a.ts', 'ask'],
    ['edit', '../outside/a.ts', 'ask'],
    ['edit', '/etc/passwd', 'ask'],
    ['edit', 'src/link/a.ts', 'ask'],
    ['edit', 'src/x.lock', 'deny'],
    ['edit', 'src/.hidden.lock', 'deny'],
    ['write', 'secret', 'deny'],
    ['write', 'src/alias', 'deny'],
    ['write', 'src/../secret', 'deny'],
    ['write', 'src/x.lock', 'allow'],
  ])('decides about `%s` of `%s`', async (name, path, expected) => {
    expect(await decide(rules, name, file(path))).toBe(expected)
  })

  test('counts real directories: a working directory behind a link', async () => {
    const link = join(folder.path, 'work-link')
    await symlink(cwd, link)
    const policy = new CallPolicy({ default: 'ask', allow: ['edit(src/**)'] }, link)
    expect(await policy.decide({ type: 'tool-call', callId: 'c', name: 'edit', input: file('src/a.ts') })).toBe('allow')
    expect(await policy.decide({ type: 'tool-call', callId: 'c', name: 'edit', input: file(join(cwd, 'src/a.ts')) })).toBe('allow')
  })

  test('an input without a path or a command matches no rule that allows', async () => {
    expect(await decide(rules, 'edit', {})).toBe('ask')
    expect(await decide({ default: 'ask', allow: ['bash(npm test:*)'] }, 'bash', {})).toBe('ask')
  })
})
