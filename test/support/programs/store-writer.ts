// A program for tests: commits to the store in the folder of its argument until it is killed, and reports each durable commit.
// Commit n has three facts, n/0 to n/2. Their kinds alternate: facts that leave the row out of date, facts that write it, and long texts.
import { writeSync } from 'node:fs'
import type { FactBody } from '../../../src/kernel/model/facts.ts'
import { openSqliteStore } from '../../../src/store/sqlite.ts'
import { CommitMaker, specOf, uuidOf } from '../store/facts.ts'

const STDOUT = 1
const AGENT = uuidOf(1)

const makeOutput = (text: string): FactBody => ({ type: 'process.output', stream: 'stdout', text })
const makeNote = (text: string): FactBody => ({ type: 'process.note', text })

function bodiesOf(number: number): FactBody[] {
  const longText = number % 7 === 0 ? ` ${number}`.repeat(4_000) : ''
  return [
    makeOutput(`${number}/0`),
    number % 10 === 0 ? makeNote(`${number}/1`) : makeOutput(`${number}/1`),
    makeOutput(`${number}/2${longText}`),
  ]
}

const store = await openSqliteStore({ dir: process.argv[2] ?? '' })
const { counters, processes } = await store.load()
const commitMaker = new CommitMaker(counters, processes)
if (processes.length === 0) await store.commit(commitMaker.spawn(AGENT, specOf(), makeNote('begin')))
for (let number = commitMaker.get(AGENT).seq / 3; ; number++) {
  await store.commit(commitMaker.write(AGENT, ...bodiesOf(number)))
  writeSync(STDOUT, `${number}\n`)
}
