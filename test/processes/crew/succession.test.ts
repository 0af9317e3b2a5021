// The next coordinator, under a daemon that is killed. Reports of a worker during a vacancy are kept, and read by the next coordinator,
// once and in order, across `kill -9`.
import { afterEach, beforeEach, expect, test } from 'vitest'
import { CrewHome, makeTask } from '../../support/crew/crew-home.ts'
import { crewFacts, ofType, violationsOfCrew } from '../../support/crew/crew-journal-check.ts'
import type { StoredFact } from '../../../src/kernel/model/facts.ts'

const TIMEOUT_MS = 300_000
let crew: CrewHome
beforeEach(async () => {
  crew = await CrewHome.make()
})
afterEach(() => crew[Symbol.asyncDispose]())

const readTextsOf = (facts: readonly StoredFact[]): string[] => {
  const texts = new Map(facts.flatMap(({ body }) => (body.type === 'process.queue' ? [[body.id, body.text] as const] : [])))
  return facts.flatMap(({ body }) =>
    body.type === 'process.incoming'
      ? [texts.get(body.id) ?? body.id]
      : body.type === 'message.taken' && body.turn > 0
        ? [texts.get(body.id) ?? body.id]
        : [],
  )
}

test('a report during a vacancy is read by the next coordinator', { timeout: TIMEOUT_MS }, async () => {
  crew.hold('task', 'one')
  await crew.up({
    coordinator: { agent: 'default', model: CrewHome.model('coordinator') },
    workers: { generic: { count: 2, model: CrewHome.model('worker') } },
    tasks: [makeTask('one'), makeTask('two', ['one'])],
  })
  await crew.waitForHold('task', 'one')
  const { member } = await crew.waitForFact('task.assigned', ({ task }) => task === 'one')
  await crew.cli('kill', '-s', 'KILL', 'team.coordinator')
  await crew.waitForFact('crew.left', ({ member }) => member === 'coordinator')
  // The worker continues after that, and reports without a coordinator.
  await crew.restartDaemon()
  await crew.waitForFact('task.reported', ({ task }) => task === 'one')
  await crew.cli('crew', 'replace', 'team', 'coordinator', 'go on with it')
  await crew.waitForFact('crew.joined', ({ member }) => member === 'coordinator-2')
  await crew.restartDaemon()
  expect(await crew.waitForEnd()).toMatchObject({ status: 'completed', exit: { code: 0 } })
  expect(await crew.home.stop()).toMatchObject({ code: 0 })
  const { crew: crewJournal, members, violations } = await crew.journals()
  expect([...violations, ...violationsOfCrew(crewJournal, members, true)]).toEqual([])
  expect(ofType(crewFacts(crewJournal.facts), 'task.committed').map(({ task }) => task)).toEqual(['one', 'two'])
  const readTexts = readTextsOf(members.find(({ process }) => process.spec.member?.id === 'coordinator-2')?.facts ?? [])
  expect(readTexts[0]).toMatch(/^You take over from coordinator, which was stopped: .*The user wrote: go on with it/)
  expect(readTexts.filter((text) => text.startsWith(`${String(member)} reports one "the file one" complete`))).toHaveLength(1)
})
