// Who coordinates after a coordinator, under a daemon that is killed: what a worker reports while nobody coordinates is kept, and read
// by whoever comes next, once and in order, over `kill -9`.
import { afterEach, beforeEach, expect, test } from 'vitest'
import { CrewHome, taskOf } from '../support/crew-home.ts'
import { crewFacts, ofType, wrongsOfCrew } from '../support/crew-journal.ts'
import type { StoredFact } from '../../src/kernel/facts.ts'

const SLOW = 120_000
let crew: CrewHome
beforeEach(async () => { crew = await CrewHome.make() })
afterEach(() => crew[Symbol.asyncDispose]())

const textsRead = (facts: readonly StoredFact[]): string[] => {
  const texts = new Map(facts.flatMap(({ body }) => (body.type === 'process.queue' ? [[body.id, body.text] as const] : [])))
  return facts.flatMap(({ body }) => (body.type === 'process.incoming' ? [texts.get(body.id) ?? body.id] : body.type === 'message.taken' && body.turn > 0 ? [texts.get(body.id) ?? body.id] : []))
}

test('a report that nobody was there to read is read by the next coordinator', { timeout: SLOW }, async () => {
  crew.hold('task', 'one')
  await crew.up({ coordinator: { agent: 'default', model: CrewHome.model('coordinator') }, workers: { generic: { count: 2, model: CrewHome.model('worker') } }, tasks: [taskOf('one'), taskOf('two', ['one'])] })
  await crew.held('task', 'one')
  const { member } = await crew.fact('task.assigned', ({ task }) => task === 'one')
  await crew.cli('kill', '-s', 'KILL', 'team.coordinator')
  await crew.fact('crew.left', ({ member }) => member === 'coordinator')
  // The worker goes on after that, and reports to nobody.
  await crew.again()
  await crew.fact('task.reported', ({ task }) => task === 'one')
  await crew.cli('crew', 'replace', 'team', 'coordinator', 'go on with it')
  await crew.fact('crew.joined', ({ member }) => member === 'coordinator-2')
  await crew.again()
  expect(await crew.ended()).toMatchObject({ status: 'completed', exit: { code: 0 } })
  expect(await crew.home.stop()).toMatchObject({ code: 0 })
  const { crew: own, members, wrong } = await crew.journals()
  expect([...wrong, ...wrongsOfCrew(own, members, true)]).toEqual([])
  expect(ofType(crewFacts(own.facts), 'task.committed').map(({ task }) => task)).toEqual(['one', 'two'])
  const read = textsRead(members.find(({ process }) => process.spec.member?.id === 'coordinator-2')?.facts ?? [])
  expect(read[0]).toMatch(/^You take over from coordinator, which was lost: .*A person wrote: go on with it/)
  expect(read.filter((text) => text.startsWith(`${String(member)} reports one "the file one" complete`))).toHaveLength(1)
})
