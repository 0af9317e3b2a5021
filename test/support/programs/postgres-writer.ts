// A program for tests: takes over the store of the URL in REEVE_STORE_URL, and writes numbered commits until another writer has taken it
// over. The line `open N` on its input begins that, with the process N. It prints `N ready`, each acknowledged commit as `N M`, and the
// code of the final error as `N FENCED`.
import { writeSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { openPostgresStore } from '../../../src/store/postgres/postgres.ts'
import { NumberedWriter } from '../postgres/numbered-writer.ts'
import { uuidOf } from '../store/facts.ts'

const STDOUT = 1

for await (const line of createInterface(process.stdin)) {
  const session = Number(line.replace('open ', ''))
  const store = await openPostgresStore({ url: process.env['REEVE_STORE_URL'] ?? '', durability: 'single' })
  const writer = await NumberedWriter.start(store, uuidOf(session))
  writeSync(STDOUT, `${session} ready\n`)
  const error = await writer.writeUntil(() => {
    writeSync(STDOUT, `${session} ${writer.acknowledged}\n`)
    return false
  })
  writeSync(STDOUT, `${session} ${error?.code}\n`)
  await store[Symbol.asyncDispose]()
}
