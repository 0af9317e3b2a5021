// The row of a crew is large, and is out of date while only facts of the crew are written. Readers still get the exact crew, and a
// crash loses nothing. A compose run is read exactly, too.
import { cpSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, test } from 'vitest'
import { openSqliteStore } from '../../../../src/store/sqlite.ts'
import { CommitMaker, specOf, uuidOf } from '../../../support/store/facts.ts'
import { openTestStore } from '../../../support/store/test-store.ts'
import type { FactBody } from '../../../../src/kernel/model/facts.ts'

const CREW = uuidOf(1)
const RUN = uuidOf(2)
/** Chosen so that the later commits do not fill a block of the index: a full block writes the row. */
const TASKS = 400
const COMMITS = 40

const taskAdded = (task: string): FactBody => ({
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
const turnBegun = (number: number): FactBody => ({ type: 'crew.turn.begun', member: 'worker-1', turn: number, resets: false })

test('facts of a crew do not write its row; every reader gets the exact crew, also after a crash', async () => {
  await using fixture = await openTestStore()
  const commits = new CommitMaker()
  const facts: FactBody[] = [
    { type: 'crew.begun' },
    { type: 'crew.member', member: 'worker-1', role: 'generic' },
    { type: 'crew.joined', member: 'worker-1', process: uuidOf(3) },
  ]
  await fixture.store.commit(
    commits.spawn(
      CREW,
      specOf({ driver: 'crew' }),
      ...facts,
      ...Array.from({ length: TASKS }, (_, index) => taskAdded(`task-${index + 1}`)),
    ),
  )
  for (let number = 1; number <= COMMITS; number += 1) await fixture.store.commit(commits.write(CREW, turnBegun(number)))
  expect(await fixture.store.process(CREW)).toStrictEqual(commits.get(CREW))
  const crashCopy = join(fixture.dir, '..', 'crashed')
  cpSync(fixture.dir, crashCopy, { recursive: true })
  const file = new DatabaseSync(join(crashCopy, 'store.db'), { readOnly: true })
  expect(Number(file.prepare('SELECT seq FROM processes').get()?.['seq'])).toBe(TASKS + 5)
  file.close()
  await using store = await openSqliteStore({ dir: crashCopy })
  expect(await store.process(CREW)).toStrictEqual(commits.get(CREW))
  expect(await store.verify()).toEqual([])
})

test('a compose run is read exactly after facts of its nodes, also after a restart', async () => {
  await using fixture = await openTestStore()
  const commits = new CommitMaker()
  const compose = { file: 'reeve.yaml', nodes: [{ name: 'one', needs: [], retries: 0, template: specOf() }] }
  await fixture.store.commit(commits.spawn(RUN, specOf({ driver: 'compose', compose })))
  await fixture.store.commit(
    commits.write(RUN, { type: 'compose.starting', node: 'one', ask: 1 }, { type: 'compose.started', node: 'one', child: uuidOf(3) }),
  )
  expect(await fixture.store.process(RUN)).toStrictEqual(commits.get(RUN))
  expect((await (await fixture.reopen()).load()).processes).toStrictEqual([commits.get(RUN)])
})
