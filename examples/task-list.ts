// Runs a list of tasks with agents, two at a time. An agent that fails is resumed at its last step, at most twice. No new agent
// starts once all agents together have spent the budget.
// node examples/task-list.ts "Fix the typos in docs." "Add a test for parse()."
import { connect, type ProcessView } from 'reeve'

const BUDGET_USD = 5
const AT_ONCE = 2
const RESUMES = 2

await using reeve = connect()
const tasks = process.argv.slice(2)
const started: string[] = []

async function spentUsd(): Promise<number> {
  const sums = await Promise.all(started.map((uuid) => reeve.usage(uuid)))
  return sums.reduce((usd, { costUsd }) => usd + (costUsd ?? 0), 0)
}

/** Whether a process should be resumed: an agent that the user stopped stays stopped. */
function shouldResume({ status }: ProcessView): boolean {
  return status === 'failed' || status === 'interrupted'
}

async function work(task: string): Promise<ProcessView> {
  const leftUsd = BUDGET_USD - (await spentUsd())
  const { uuid } = await reeve.spawn({ intent: task, limits: { budgetUsd: leftUsd, timeoutMs: 30 * 60_000 } })
  started.push(uuid)
  let { process: ended } = await reeve.wait(uuid)
  for (let resumes = 0; shouldResume(ended) && resumes < RESUMES; resumes++) {
    await reeve.resume(uuid, { message: `That ended with: ${ended.exit?.reason}. Go on.` })
    ended = (await reeve.wait(uuid)).process
  }
  return ended
}

async function worker(): Promise<void> {
  for (let task = tasks.shift(); task !== undefined; task = tasks.shift()) {
    if ((await spentUsd()) >= BUDGET_USD) return
    const { status, lastText } = await work(task)
    console.log(`${status}: ${task}\n  ${lastText ?? ''}`)
    if (status !== 'completed') process.exitCode = 1
  }
}

await Promise.all(Array.from({ length: AT_ONCE }, worker))
console.error(`${tasks.length} tasks are left, $${(await spentUsd()).toFixed(4)} spent`)
