// The soak: agents at work and a daemon that is killed with SIGKILL at random moments, 1,000 times or as often as fits; and
// 1,000 torture trees in each kind of containment, as root and as an ordinary user.
// `npm run soak [-- --kills N --trees N --minutes M --seed S]`. Prints a line per life and closing tables; ends non-zero at the
// first broken promise, with the seed. It is what test/processes/crash.test.ts (on the bundle that users run) and
// torture.test.ts do, often.
import { randomInt } from 'node:crypto'
import { parseArgs } from 'node:util'
import { besiege, type Phase, type Tally } from '../test/support/crash.ts'
import { seeded } from '../test/support/random.ts'
import { besiege as torture, canBesiege, ENDINGS, type Siege } from '../test/support/torture.ts'

const KILLS_PER_LIFE = 25
const LINES = 120
/** how many stand at the same time */
const TREES_AT_ONCE = 20
const { values } = parseArgs({
  options: {
    kills: { type: 'string', default: '1000' },
    /** of each kind, as each user */
    trees: { type: 'string', default: '1000' },
    /** no new life begins after so long */
    minutes: { type: 'string', default: '60' },
    seed: { type: 'string', default: String(randomInt(2 ** 31)) },
  },
})

function say(text: string): void {
  process.stdout.write(`${text}\n`)
}

const sum = (lives: readonly Tally[], of: (tally: Tally) => number): number => lives.reduce((total, tally) => total + of(tally), 0)
const killsOf = ({ kills }: Tally): number => kills.boot + kills.resume + kills.work + kills.stop

function table(lives: readonly Tally[], broken: number): readonly (readonly [string, number])[] {
  const phase = (name: Phase): number => sum(lives, ({ kills }) => kills[name])
  return [
    ['daemons killed with SIGKILL', sum(lives, killsOf)],
    ['  while booting', phase('boot')],
    ['  while resuming', phase('resume')],
    ['  while agents worked', phase('work')],
    ['  while stopping in good order', phase('stop')],
    ['lives of five agents', lives.length],
    ['resumes', sum(lives, (tally) => tally.resumes)],
    ['facts in the journals', sum(lives, (tally) => tally.facts)],
    ['events acknowledged to a client before a kill', sum(lives, (tally) => tally.acknowledged)],
    ['lines written', sum(lives, (tally) => tally.lines)],
    ['calls that were cut off, their line written', sum(lives, ({ cutOff }) => cutOff.written)],
    ['calls that were cut off, their line absent', sum(lives, ({ cutOff }) => cutOff.absent)],
    ['broken promises', broken],
  ]
}

function close(lives: readonly Tally[], broken: number, began: number): void {
  say(`\nseed ${values.seed}, ${((performance.now() - began) / 60_000).toFixed(1)} min\n`)
  for (const [what, count] of table(lives, broken)) say(`${what.padEnd(48)}${count.toLocaleString('en').padStart(10)}`)
}

/** Errors: somebody was left. */
async function torturePart({ kind, who }: Pick<Siege, 'kind' | 'who'>, wanted: number): Promise<void> {
  if (!canBesiege({ kind, who })) return say(`${`torture trees in ${kind} as ${who}`.padEnd(48)}${'cannot be had here'.padStart(10)}`)
  let worstMs = 0
  let done = 0
  for (let round = 0; done < wanted; round++) {
    const [trees, ending] = [Math.min(TREES_AT_ONCE, wanted - done), ENDINGS[round % ENDINGS.length] ?? 'kill']
    worstMs = Math.max(worstMs, await torture({ kind, who, ending, trees }))
    done += trees
  }
  say(`${`torture trees in ${kind} as ${who}`.padEnd(48)}${done.toLocaleString('en').padStart(10)}   nobody left, ${TREES_AT_ONCE} at once gone after ${worstMs.toFixed(0)} ms at the most`)
}

async function tortureAll(wanted: number): Promise<void> {
  for (const kind of ['cgroup', 'pidns'] as const) for (const who of ['root', 'an ordinary user'] as const) await torturePart({ kind, who }, wanted)
}

async function main(): Promise<void> {
  const [kills, minutes, random] = [Number(values.kills), Number(values.minutes), seeded(Number(values.seed))]
  const began = performance.now()
  const lives: Tally[] = []
  say(`seed ${values.seed}: ${kills} kills, at most ${minutes} min`)
  try {
    while (sum(lives, killsOf) < kills && performance.now() - began < minutes * 60_000) {
      const left = kills - sum(lives, killsOf)
      lives.push(await besiege({ form: 'bundle', lines: LINES, kills: Math.min(left, KILLS_PER_LIFE), random }))
      say(`${sum(lives, killsOf)} kills, ${sum(lives, (tally) => tally.lines)} lines, ${((performance.now() - began) / 1_000).toFixed(0)} s`)
    }
    if (kills > 0) close(lives, 0, began)
    await tortureAll(Number(values.trees))
  } catch (error) {
    if (kills > 0) close(lives, 1, began)
    say(`\nbroken: ${(error as Error).message}`)
    process.exitCode = 1
  }
}

await main()
