// A conversation with an agent: each line that you type is a turn. An empty line, or the end of the input, ends it.
// node examples/chat.ts
import { createInterface } from 'node:readline'
import { connect } from 'reeve'

await using reeve = connect()
const { uuid } = await reeve.spawn({ interactive: true })
const events = reeve.events({ process: uuid, follow: true, live: true })

/** Prints the agent's texts until it is ready for a message; false when it has ended. */
async function untilReady(): Promise<boolean> {
  for (;;) {
    const { value: event, done } = await events.next()
    if (done) return false
    if (event.type === 'live.text') process.stdout.write(String(event['text']))
    if (event.type === 'process.ready') return true
  }
}

const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]()
while (await untilReady()) {
  process.stdout.write('\n> ')
  const { value: line, done } = await lines.next()
  if (done || line.trim() === '') break
  await reeve.send(uuid, line)
}
await reeve.signal(uuid, 'SIGTERM', { graceMs: 1_000 }).catch(() => null) // the agent may have ended by itself
const { process: ended } = await reeve.wait(uuid)
console.log(`\n${ended.step} steps, $${ended.usage.costUsd?.toFixed(4) ?? '?'}`)
