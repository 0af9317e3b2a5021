// The definition of a crew from a file, a request and the defaults: precedence and refusals.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { pathsFrom } from '../../../../../src/config/paths.ts'
import { resolveDefinition, type CrewDefinition } from '../../../../../src/daemon/crew/up/definition.ts'
import { testEnv } from '../../../../support/env.ts'
import { tempDir, type TempDir } from '../../../../support/tmp.ts'
import type { CrewUpBody } from '../../../../../src/api/views/crew-up.ts'

let dir: TempDir
beforeEach(async () => {
  dir = await tempDir()
  mkdirSync(join(dir.path, 'work'))
})
afterEach(() => dir[Symbol.asyncDispose]())

const writeFileIn = (name: string, text: string): string => {
  const file = join(dir.path, 'work', name)
  writeFileSync(file, text)
  return file
}
const definitionOf = (body: Partial<CrewUpBody> = {}): Promise<CrewDefinition> =>
  resolveDefinition({ cwd: join(dir.path, 'work'), ...body }, pathsFrom(testEnv(join(dir.path, 'home'))))
const TASK = [{ text: 'Do it.\nWell.' }]
const CREW_FIX = 'crews: { fix: { workers: 1, tasks: [{ id: a, text: x }] } }'

test('without a file, the crew has the engine as coordinator, two workers that review each other, and a worktree for each', async () => {
  expect(await definitionOf({ tasks: TASK })).toEqual({
    name: 'crew',
    files: [],
    cwd: join(dir.path, 'work'),
    coordinator: null,
    staff: [{ role: 'generic', count: 2 }],
    roleAgents: {},
    commonAgent: {},
    gate: 'auto',
    merge: 'auto',
    reviews: true,
    worktrees: true,
    stay: false,
    startsAnew: false,
    maxAttempts: 3,
    maxWorkers: 2,
    handOver: 0.9,
    copy: [],
    tasks: [{ text: 'Do it.\nWell.', title: 'Do it.' }],
  })
  expect(await definitionOf({ tasks: TASK, reviews: false })).toMatchObject({ staff: [{ role: 'generic', count: 1 }], maxWorkers: 1 })
})

test('a crew has the settings of the file; a field of the request overrides that of the file', async () => {
  writeFileIn(
    'reeve.yaml',
    `
crews:
  fix:
    coordinator: { agent: lead, model: script:lead.yaml }
    workers: { implementer: 2, reviewer: { count: 1, model: script:r.yaml } }
    model: script:w.yaml
    gate: coordinator
    limits: { budgetUsd: 5 }
    max_workers: 6
    hand_over: "off"
    cwd: src
    tasks: tasks.md
`,
  )
  writeFileIn('tasks.md', '## a: A\n\nx\n')
  const inWork = (path: string): string => join(dir.path, 'work', path)
  expect(await definitionOf()).toMatchObject({
    name: 'fix',
    cwd: inWork('src'),
    coordinator: { agent: 'lead', model: `script:${inWork('lead.yaml')}` },
    staff: [
      { role: 'implementer', count: 2 },
      { role: 'reviewer', count: 1 },
    ],
    roleAgents: { implementer: {}, reviewer: { model: `script:${inWork('r.yaml')}` } },
    commonAgent: { model: `script:${inWork('w.yaml')}`, limits: { budgetUsd: 5 } },
    gate: 'coordinator',
    maxWorkers: 6,
    handOver: null,
    tasks: [{ id: 'a', title: 'A', text: 'x' }],
  })
  const request = {
    name: 'other',
    coordinator: 'boss',
    workers: { generic: 4 },
    model: 'p/m',
    gate: 'human' as const,
    maxWorkers: 5,
    handOver: 0.5,
    limits: { budgetUsd: 1 },
    tasks: TASK,
  }
  expect(await definitionOf(request)).toMatchObject({
    name: 'other',
    coordinator: { agent: 'boss' },
    staff: [{ role: 'generic', count: 4 }],
    commonAgent: { model: 'p/m', limits: { budgetUsd: 1 } },
    gate: 'human',
    maxWorkers: 5,
    handOver: 0.5,
    tasks: [{ title: 'Do it.' }],
  })
  expect(await definitionOf({ coordinator: 'engine', gate: 'auto' })).toMatchObject({ coordinator: null })
  // A request with more workers than the file's maximum raises the maximum.
  expect(await definitionOf({ workers: { generic: 7 } })).toMatchObject({ maxWorkers: 7 })
})

test('a definition can come from another file, and from the user configuration', async () => {
  const file = writeFileIn('crew.yaml', CREW_FIX)
  expect(await definitionOf({ file })).toMatchObject({ name: 'fix', staff: [{ role: 'generic', count: 1 }] })
  mkdirSync(join(dir.path, 'home'))
  writeFileSync(join(dir.path, 'home/config.yaml'), CREW_FIX.replace('fix', 'mine'))
  expect(await definitionOf()).toMatchObject({ name: 'mine' })
  expect(await definitionOf({ crew: 'mine' })).toMatchObject({ name: 'mine' })
})

test("a task's verify command has precedence, and a request with `verify: false` removes all verify commands", async () => {
  writeFileIn(
    'reeve.yaml',
    'crews: { fix: { workers: { generic: { count: 2, verify: role } }, verify: crew, tasks: [{ id: a, text: x, verify: task }, { id: b, text: x }] } }',
  )
  const verifyCommands = async (body: Partial<CrewUpBody>): Promise<unknown> => {
    const { verify, verifyBy, tasks } = await definitionOf(body)
    return [verify?.command, verifyBy?.generic && verifyBy.generic.command, ...tasks.map((task) => task.verify && task.verify.command)]
  }
  expect(await verifyCommands({})).toEqual(['crew', 'role', 'task', undefined])
  expect(await verifyCommands({ verify: { command: 'flag' } })).toEqual(['flag', undefined, 'task', undefined])
  expect(await verifyCommands({ verify: false })).toEqual([undefined, undefined, undefined, undefined])
  expect(await verifyCommands({ verify: false, tasks: [{ id: 'c', text: 'x', verify: { command: 'task' } }] })).toEqual([
    undefined,
    undefined,
    undefined,
  ])
})

test('a name that no file defines becomes the name of a crew that is defined by flags', async () => {
  expect(await definitionOf({ crew: 'new', tasks: TASK })).toMatchObject({ name: 'new' })
  writeFileIn('reeve.yaml', CREW_FIX)
  expect(await definitionOf({ crew: 'new', tasks: TASK })).toMatchObject({ name: 'new', staff: [{ role: 'generic', count: 2 }] })
})

describe('a request is refused', () => {
  test.each<[string, string, Partial<CrewUpBody>, RegExp, RegExp]>([
    ['with no crew in the file and no flags', 'defaultAgent: default', {}, /^\/.*reeve\.yaml has no crews$/, /crews:.*--tasks/],
    ['for an unknown crew', CREW_FIX, { crew: 'fox' }, /there is no crew `fox`.*there are fix/, /reeve.yaml/],
    ['for a crew without tasks', 'crews: { fix: {} }', {}, /the crew has no tasks/, /--stay/],
    ['for the gate `coordinator` without a coordinator agent', CREW_FIX, { gate: 'coordinator' }, /needs an agent as coordinator/, /./],
    ['for a crew without workers', CREW_FIX, { workers: 0 }, /has no workers/, /./],
    ['without a name if the file has two crews', 'crews: { a: {}, b: {} }', {}, /which crew\?.*a, b/, /./],
  ])('%s', async (_, yaml, body, message, hint) => {
    writeFileIn('reeve.yaml', yaml)
    const error = await definitionOf(body).then(
      () => null,
      (reason: { message: string; hint: string }) => reason,
    )
    expect(error?.message).toMatch(message)
    expect(error?.hint).toMatch(hint)
  })

  test('if there is no file', async () => {
    await expect(definitionOf()).rejects.toMatchObject({
      message: expect.stringMatching(/^there is no reeve\.yaml here, and \/.*config\.yaml has no crews$/),
    })
  })

  test('if the named file is missing', async () => {
    await expect(definitionOf({ file: join(dir.path, 'no.yaml') })).rejects.toMatchObject({
      code: 'AGENT_INVALID',
      message: expect.stringContaining('the file does not exist'),
    })
  })
})
