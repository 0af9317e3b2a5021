// Starts an agent, waits for its end and prints its answer. The exit code is the agent's.
// node examples/spawn-and-wait.ts "List the test files in this folder."
import { connect } from 'reeve'

await using reeve = connect()
const { uuid } = await reeve.spawn({
  intent: process.argv[2] ?? 'List the test files in this folder.',
  limits: { maxSteps: 20, budgetUsd: 1 },
})
const { process: ended } = await reeve.wait(uuid)
console.log(ended.lastText)
console.error(`${ended.status}: ${ended.exit?.reason}, ${ended.step} steps, $${ended.usage.costUsd?.toFixed(4) ?? '?'}`)
process.exitCode = ended.exit?.code ?? 1
