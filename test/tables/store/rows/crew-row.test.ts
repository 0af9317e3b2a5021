// The row of a crew is large, and is out of date while only facts of the crew are written. Readers still get the exact crew, and a
// crash loses nothing. The same holds for compose runs.
import { cpSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, test } from 'vitest'
import { openSqliteStore } from '../../../../src/store/sqlite.ts'
import { Scribe, specOf, uuidOf } from '../../../support/store/facts.ts'
import { testStore } from '../../../support/store/open.ts'
import type { FactBody } from '../../../../src/kernel/model/facts.ts'

const CREW = uuidOf(1)
const RUN = uuidOf(2)
/** Too few facts to fill a block of the index, because a full block writes the row. */
const TASKS = 400
const COMMITS = 40

const added = (task: string): FactBody => ({
  type: 'task.added',
  task,
  kind: 'work',
  title: `the task ${task}`,
  text: 'do it',
  needs: [],
  role: null,
  reviews: true,
  by: 'user',
})
const turn = (number: number): FactBody => ({ type: 'crew.turn.begun', member: 'worker-1', turn: number, resets: false })

test('facts of a crew do not write its row; every reader gets the exact crew, also after a crash', async () => {
  await using at = await testStore()
  const scribe = new Scribe()
  const facts: FactBody[] = [
    { type: 'crew.begun' },
    { type: 'crew.member', member: 'worker-1', role: 'generic' },
    { type: 'crew.joined', member: 'worker-1', process: uuidOf(3) },
  ]
  await at.store.commit(
    scribe.spawn(CREW, specOf({ driver: 'crew' }), ...facts, ...Array.from({ length: TASKS }, (_, index) => added(`task-${index + 1}`))),
  )
  for (let number = 1; number <= COMMITS; number += 1) await at.store.commit(scribe.write(CREW, turn(number)))
  expect(await at.store.process(CREW)).toStrictEqual(scribe.get(CREW))
  const crashed = join(at.dir, '..', 'crashed')
  cpSync(at.dir, crashed, { recursive: true })
  const file = new DatabaseSync(join(crashed, 'store.db'), { readOnly: true })
  expect(Number(file.prepare('SELECT seq FROM processes').get()?.['seq'])).toBe(TASKS + 5)
  file.close()
  await using store = await openSqliteStore({ dir: crashed })
  expect(await store.process(CREW)).toStrictEqual(scribe.get(CREW))
  expect(await store.verify()).toEqual([])
})

test('facts of a compose run do not write its row either', async () => {
  await using at = await testStore()
  const scribe = new Scribe()
  const compose = { file: 'reeve.yaml', nodes: [{ name: 'one', needs: [], retries: 0, template: specOf() }] }
  await at.store.commit(scribe.spawn(RUN, specOf({ driver: 'compose', compose })))
  await at.store.commit(
    scribe.write(RUN, { type: 'compose.starting', node: 'one', ask: 1 }, { type: 'compose.started', node: 'one', child: uuidOf(3) }),
  )
  expect(await at.store.process(RUN)).toStrictEqual(scribe.get(RUN))
  expect((await (await at.reopen()).load()).processes).toStrictEqual([scribe.get(RUN)])
})
