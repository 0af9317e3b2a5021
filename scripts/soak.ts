// The long stress test: `npm run soak [-- --kills N --trees N --rounds N --minutes M --seed S]`. It has three parts:
// - Agents work while the daemon is killed with SIGKILL at random moments, 1,000 times or as often as the time allows.
// - 1,000 torture trees run in each kind of containment, as root and as an ordinary user.
// - Rounds of all kinds of work run at once.
// It prints a line for each home and tables at the end. At the first broken guarantee it exits with 1 and prints the seed. It repeats
// test/processes/crash/random-kills.test.ts (on the bundle that users run) and test/processes/contain/torture.test.ts many times.
import { randomInt } from 'node:crypto'
import { parseArgs } from 'node:util'
import { killRepeatedly, type Phase, type KillTally } from '../test/support/daemon/repeated-kills.ts'
import { runMixedWork } from '../test/support/daemon/mixed-work.ts'
import { seededRandom } from '../test/support/random.ts'
import { canRunTortureTrees, endTortureTrees, ENDINGS, type TortureOptions } from '../test/support/contain/torture.ts'

const KILLS_PER_HOME = 25
const LINES = 120
/** the number of trees at the same time */
const TREES_AT_ONCE = 20
const { values } = parseArgs({
  options: {
    kills: { type: 'string', default: '1000' },
    /** trees in each kind of containment, as each user */
    trees: { type: 'string', default: '1000' },
    /** rounds of all kinds of work at once */
    rounds: { type: 'string', default: '300' },
    /** the time after which no new home is started, in minutes */
    minutes: { type: 'string', default: '60' },
    seed: { type: 'string', default: String(randomInt(2 ** 31)) },
  },
})

function print(text: string): void {
  process.stdout.write(`${text}\n`)
}

const sum = (tallies: readonly KillTally[], of: (tally: KillTally) => number): number =>
  tallies.reduce((total, tally) => total + of(tally), 0)
const killsOf = ({ kills }: KillTally): number => kills.boot + kills.resume + kills.work + kills.stop

function summaryRows(tallies: readonly KillTally[], broken: number): readonly (readonly [string, number])[] {
  const phase = (name: Phase): number => sum(tallies, ({ kills }) => kills[name])
  return [
    ['daemons killed with SIGKILL', sum(tallies, killsOf)],
    ['  while booting', phase('boot')],
    ['  while resuming', phase('resume')],
    ['  while agents worked', phase('work')],
    ['  while stopping in good order', phase('stop')],
    ['times that the daemon was stopped by SIGSTOP', sum(tallies, ({ disturbances }) => disturbances.frozen)],
    ['times that its wall clock was set', sum(tallies, ({ disturbances }) => disturbances.clock)],
    ['homes with five agents', tallies.length],
    ['resumes', sum(tallies, (tally) => tally.resumes)],
    ['facts in the journals', sum(tallies, (tally) => tally.facts)],
    ['events acknowledged to a client before a kill', sum(tallies, (tally) => tally.acknowledged)],
    ['lines written', sum(tallies, (tally) => tally.lines)],
    ['calls that were cut off, their line written', sum(tallies, ({ cutOff }) => cutOff.written)],
    ['calls that were cut off, their line absent', sum(tallies, ({ cutOff }) => cutOff.absent)],
    ['broken guarantees', broken],
  ]
}

function printSummary(tallies: readonly KillTally[], broken: number, began: number): void {
  print(`\nseed ${values.seed}, ${((performance.now() - began) / 60_000).toFixed(1)} min\n`)
  for (const [what, count] of summaryRows(tallies, broken)) print(`${what.padEnd(48)}${count.toLocaleString('en').padStart(10)}`)
}

/** Runs the torture trees of one kind as one user. Throws if a program survives. */
async function runTortureTrees({ kind, user }: Pick<TortureOptions, 'kind' | 'user'>, wanted: number): Promise<void> {
  if (!canRunTortureTrees({ kind, user }))
    return print(`${`torture trees in ${kind} as ${user}`.padEnd(48)}${'not possible here'.padStart(10)}`)
  let worstMs = 0
  let doneTrees = 0
  for (let round = 0; doneTrees < wanted; round++) {
    const [trees, ending] = [Math.min(TREES_AT_ONCE, wanted - doneTrees), ENDINGS[round % ENDINGS.length] ?? 'kill']
    worstMs = Math.max(worstMs, await endTortureTrees({ kind, user, ending, trees }))
    doneTrees += trees
  }
  print(
    `${`torture trees in ${kind} as ${user}`.padEnd(48)}${doneTrees.toLocaleString('en').padStart(10)}   none left, ${TREES_AT_ONCE} at once gone after ${worstMs.toFixed(0)} ms at the most`,
  )
}

async function runAllTortureTrees(wanted: number): Promise<void> {
  for (const kind of ['cgroup', 'pidns'] as const)
    for (const who of ['root', 'an ordinary user'] as const) await runTortureTrees({ kind, user: who }, wanted)
}

async function runMixedRounds(rounds: number): Promise<void> {
  if (rounds === 0) return
  const { processes, crews, before, after, slowestQueryMs } = await runMixedWork(rounds)
  print(
    `\n${rounds} rounds of mixed work: ${processes} processes, ${crews} crews; the slowest read of the table took ${slowestQueryMs.toFixed(0)} ms`,
  )
  print(
    `descriptors ${before.descriptors} → ${after.descriptors}, threads ${before.threads} → ${after.threads}, resident memory ${before.residentMib.toFixed(0)} → ${after.residentMib.toFixed(0)} MiB`,
  )
}

async function main(): Promise<void> {
  const [kills, minutes, random] = [Number(values.kills), Number(values.minutes), seededRandom(Number(values.seed))]
  const beganMs = performance.now()
  const tallies: KillTally[] = []
  print(`seed ${values.seed}: ${kills} kills, at most ${minutes} min`)
  try {
    while (sum(tallies, killsOf) < kills && performance.now() - beganMs < minutes * 60_000) {
      const killsLeft = kills - sum(tallies, killsOf)
      tallies.push(await killRepeatedly({ form: 'bundle', lines: LINES, kills: Math.min(killsLeft, KILLS_PER_HOME), random }))
      print(
        `${sum(tallies, killsOf)} kills, ${sum(tallies, (tally) => tally.lines)} lines, ${((performance.now() - beganMs) / 1_000).toFixed(0)} s`,
      )
    }
    if (kills > 0) printSummary(tallies, 0, beganMs)
    await runAllTortureTrees(Number(values.trees))
    await runMixedRounds(Number(values.rounds))
  } catch (error) {
    if (kills > 0) printSummary(tallies, 1, beganMs)
    print(`\nbroken: ${(error as Error).message}`)
    process.exitCode = 1
  }
}

await main()
