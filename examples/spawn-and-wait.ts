// Starts an agent, waits for it and prints what it said. The exit code is the agent's.
// node examples/spawn-and-wait.ts "Say which files here are tests."
import { connect } from 'reeve'

await using reeve = connect()
const { uuid } = await reeve.spawn({ intent: process.argv[2] ?? 'Say which files here are tests.', limits: { maxSteps: 20, budgetUsd: 1 } })
const { process: ended } = await reeve.wait(uuid)
console.log(ended.lastText)
console.error(`${ended.status}: ${ended.exit?.reason}, ${ended.step} steps, $${ended.usage.costUsd.toFixed(4)}`)
process.exitCode = ended.exit?.code ?? 1
