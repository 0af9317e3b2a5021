// From a file, a request and the defaults to what a crew is to be: which word counts, and what is refused.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { paths } from '../../src/config/paths.ts'
import { definitionOf, type Definition } from '../../src/daemon/crew-definition.ts'
import { testEnv } from '../support/env.ts'
import { tempDir, type TempDir } from '../support/tmp.ts'
import type { CrewUpBody } from '../../src/api/crew-up-views.ts'

let dir: TempDir
beforeEach(async () => {
  dir = await tempDir()
  mkdirSync(join(dir.path, 'work'))
})
afterEach(() => dir[Symbol.asyncDispose]())

const put = (name: string, text: string): string => {
  const file = join(dir.path, 'work', name)
  writeFileSync(file, text)
  return file
}
const defined = (body: Partial<CrewUpBody> = {}): Promise<Definition> => definitionOf({ cwd: join(dir.path, 'work'), ...body }, paths(testEnv(join(dir.path, 'home'))))
const TASK = [{ text: 'Do it.\nWell.' }]
const LINE = 'crews: { fix: { workers: 1, tasks: [{ id: a, text: x }] } }'

test('without a file: two workers that may review each other, the engine, a worktree each', async () => {
  expect(await defined({ tasks: TASK })).toEqual({
    name: 'crew', cwd: join(dir.path, 'work'), coordinator: null, staff: [{ role: 'generic', count: 2 }], who: {}, all: {}, gate: 'auto', merge: 'auto', reviews: true, worktrees: true, stay: false,
    maxAttempts: 3, maxWorkers: 2, handOver: 0.9, tasks: [{ text: 'Do it.\nWell.', title: 'Do it.' }],
  })
  expect(await defined({ tasks: TASK, reviews: false })).toMatchObject({ staff: [{ role: 'generic', count: 1 }], maxWorkers: 1 })
})

test('a file says how it is, and the request says it otherwise', async () => {
  put('reeve.yaml', `
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
`)
  put('tasks.md', '## a: A\n\nx\n')
  const at = (path: string): string => join(dir.path, 'work', path)
  expect(await defined()).toMatchObject({
    name: 'fix', cwd: at('src'), coordinator: { agent: 'lead', model: `script:${at('lead.yaml')}` }, staff: [{ role: 'implementer', count: 2 }, { role: 'reviewer', count: 1 }],
    who: { implementer: {}, reviewer: { model: `script:${at('r.yaml')}` } }, all: { model: `script:${at('w.yaml')}`, limits: { budgetUsd: 5 } }, gate: 'coordinator', maxWorkers: 6, handOver: null, tasks: [{ id: 'a', title: 'A', text: 'x' }],
  })
  const otherwise = { name: 'other', coordinator: 'boss', workers: { generic: 4 }, model: 'p/m', gate: 'human' as const, maxWorkers: 5, handOver: 0.5, limits: { budgetUsd: 1 }, tasks: TASK }
  expect(await defined(otherwise)).toMatchObject({ name: 'other', coordinator: { agent: 'boss' }, staff: [{ role: 'generic', count: 4 }], all: { model: 'p/m', limits: { budgetUsd: 1 } }, gate: 'human', maxWorkers: 5, handOver: 0.5, tasks: [{ title: 'Do it.' }] })
  expect(await defined({ coordinator: 'engine', gate: 'auto' })).toMatchObject({ coordinator: null })
  // A flag for more of them than the file lets live means it so.
  expect(await defined({ workers: { generic: 7 } })).toMatchObject({ maxWorkers: 7 })
})

test('of another file, and of the user', async () => {
  const file = put('crew.yaml', LINE)
  expect(await defined({ file })).toMatchObject({ name: 'fix', staff: [{ role: 'generic', count: 1 }] })
  mkdirSync(join(dir.path, 'home'))
  writeFileSync(join(dir.path, 'home/config.yaml'), LINE.replace('fix', 'mine'))
  expect(await defined()).toMatchObject({ name: 'mine' })
  expect(await defined({ crew: 'mine' })).toMatchObject({ name: 'mine' })
})

test('a name that no file has is one for a crew of flags', async () => {
  expect(await defined({ crew: 'new', tasks: TASK })).toMatchObject({ name: 'new' })
  put('reeve.yaml', LINE)
  expect(await defined({ crew: 'new', tasks: TASK })).toMatchObject({ name: 'new', staff: [{ role: 'generic', count: 2 }] })
})

describe('is refused', () => {
  test.each<[string, string, Partial<CrewUpBody>, RegExp, RegExp]>([
    ['no crew and no flags', 'defaultAgent: default', {}, /^\/.*reeve\.yaml has no crews$/, /crews:.*--tasks/],
    ['no such crew', LINE, { crew: 'fox' }, /there is no crew `fox`.*there are fix/, /reeve.yaml/],
    ['nothing to do', 'crews: { fix: {} }', {}, /it has no tasks/i, /--stay/],
    ['a gate that nobody keeps', LINE, { gate: 'coordinator' }, /needs a coordinator that is an agent/, /./],
    ['no workers', LINE, { workers: 0 }, /has no workers/, /./],
    ['two crews and no name', 'crews: { a: {}, b: {} }', {}, /which crew\?.*a, b/, /./],
  ])('%s', async (_, yaml, body, message, hint) => {
    put('reeve.yaml', yaml)
    const error = await defined(body).then(() => null, (reason: { message: string; hint: string }) => reason)
    expect(error?.message).toMatch(message)
    expect(error?.hint).toMatch(hint)
  })

  test('neither file', async () => {
    await expect(defined()).rejects.toMatchObject({ message: expect.stringMatching(/^there is no reeve\.yaml here, and \/.*config\.yaml has no crews$/) })
  })

  test('a file that is not there', async () => {
    await expect(defined({ file: join(dir.path, 'no.yaml') })).rejects.toMatchObject({ code: 'AGENT_INVALID', message: expect.stringContaining('it is not there') })
  })
})
