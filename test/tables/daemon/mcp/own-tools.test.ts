// The table of reeve's own tools: each tool has a description and a schema, each caller gets its tools, and the descriptions are short.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { toolsPage } from '../../../../scripts/docs-errors-and-tools.ts'
import { describeTools, toolsFor } from '../../../../src/daemon/mcp/tool-calls.ts'
import { OWN_TOOLS } from '../../../../src/daemon/mcp/own-tools.ts'
import { ROOT } from '../../../support/env.ts'
import type { ProcessSpec, MemberSpec } from '../../../../src/kernel/model/process-spec.ts'

type Rights = Pick<ProcessSpec, 'tools' | 'deny' | 'reeve' | 'member'>
const PLAIN: Rights = { tools: null, deny: [] }
const rightsOf = (role: MemberSpec['role']): Rights => ({
  ...PLAIN,
  member: { crew: 'c', id: role === 'coordinator' ? 'coordinator' : 'worker-1', role },
})
const toolNames = (rights: Rights | null): string[] => toolsFor(rights).map(({ name }) => name)

const WORKER = ['post_message', 'report_implementation_complete', 'report_review_verdict', 'signal_ready']
const PROCESS = ['ps', 'inspect', 'spawn', 'wait', 'signal', 'pause', 'resume', 'send', 'inbox', 'sigmask', 'sighandle']

test('names are unique, and each tool has a description and an object schema', () => {
  expect(new Set(OWN_TOOLS.map(({ name }) => name)).size).toBe(OWN_TOOLS.length)
  for (const { name, description, schema } of OWN_TOOLS) {
    expect([name, description.length > 20, schema()]).toEqual([
      expect.stringMatching(/^[a-z_]+$/),
      true,
      expect.objectContaining({ type: 'object', additionalProperties: false }),
    ])
  }
})

describe('the tools of a caller', () => {
  test.each([
    ['a process that did not ask for them has none', PLAIN, []],
    ['a process that asked for them has those for processes', { ...PLAIN, reeve: true }, PROCESS],
    [
      'a process whose list names two of them has these two',
      { tools: ['read', 'mcp__reeve__ps', 'mcp__reeve__wait'], deny: [], reeve: true },
      ['ps', 'wait'],
    ],
    [
      'a process that may not start processes has those for processes without `spawn`',
      { ...PLAIN, reeve: true, deny: ['mcp__reeve__spawn'] },
      PROCESS.filter((name) => name !== 'spawn'),
    ],
    ['a worker has those for its role and for processes', rightsOf('implementer'), [...WORKER, ...PROCESS]],
    ['a worker whose list names none of them has those for its role', { ...rightsOf('reviewer'), tools: ['read'] }, WORKER],
    ['a worker to which all MCP tools are denied still has those for its role', { ...rightsOf('generic'), deny: ['mcp__*'] }, WORKER],
    [
      "the user has those for processes, without those for the caller's own process",
      null,
      PROCESS.filter((name) => !['inbox', 'sigmask', 'sighandle'].includes(name)),
    ],
  ] as const)('%s', (_, rights, expected) => {
    expect(toolNames(rights)).toEqual(expected)
  })

  test('a coordinator has those for its role and for processes, and none of a worker', () => {
    const coordinatorTools = toolNames(rightsOf('coordinator'))
    expect(coordinatorTools).toEqual(
      expect.arrayContaining([
        'spawn_worker',
        'list_workers',
        'assign_task',
        'assign_review',
        'approve_commit',
        'send_message',
        'replace_worker',
        'retire_worker',
        'stop_worker',
        'get_task',
        'cancel_task',
        'mark_task_done',
        'mark_task_failed',
        'notify_user',
        'complete_crew',
        'add_task',
        'list_tasks',
        ...PROCESS,
      ]),
    )
    expect(coordinatorTools.filter((name) => WORKER.includes(name))).toEqual([])
  })
})

test('the descriptions for models stay short', () => {
  const bytesOf = (rights: Rights): number =>
    describeTools(toolsFor(rights)).reduce(
      (sum, { name, description, schema }) => sum + name.length + description.length + JSON.stringify(schema()).length,
      0,
    )
  const processBytes = bytesOf({ ...PLAIN, reeve: true })
  expect(processBytes).toBeLessThan(8_000)
  expect(bytesOf(rightsOf('generic')) - processBytes).toBeLessThan(2_000)
  expect(bytesOf(rightsOf('coordinator')) - processBytes).toBeLessThan(8_000)
})

test('docs/reference/mcp-tools.md matches the table', () => {
  expect(readFileSync(join(ROOT, 'docs/reference/mcp-tools.md'), 'utf8')).toBe(toolsPage())
})
