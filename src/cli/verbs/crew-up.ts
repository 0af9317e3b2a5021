// `reeve crew up`: starts a crew and follows it, or with `-d` returns at once. Test: test/e2e/cli-crew.test.ts.
import { resolve } from 'node:path'
import type { CrewUpBody, CrewUpView } from '../../api/crew-up-views.ts'
import type { Args } from '../args.ts'
import { crewInterrupts, followCrew } from '../crew-follow.ts'
import { calledCrew } from '../crew-ref.ts'
import { UsageError } from '../errors.ts'
import { plural } from '../format.ts'
import { limitsOf } from '../limit-flags.ts'
import type { Output } from '../output.ts'
import { safe } from '../text.ts'
import type { Call } from '../verbs.ts'

const ROLES = ['generic', 'implementer', 'reviewer', 'researcher'] as const
const CHOICES = { gate: ['auto', 'coordinator', 'human'], merge: ['auto', 'leave'], permissions: ['ask', 'allow', 'deny'] } as const

export async function run({ args, out, reeve }: Call): Promise<number> {
  const body = bodyOf(args)
  if (args.on('detach')) {
    const started = await reeve.crews.up(body)
    await tell(started, out)
    if (out.json) await out.value(started)
    else await out.line(started.process.uuid)
    return 0
  }
  using interrupts = crewInterrupts(out, false)
  const started = await reeve.crews.up(body)
  await tell(started, out)
  return await followCrew(started.process, { out, reeve, interrupts })
}

async function tell({ process, branch, base, tasks, notes }: CrewUpView, out: Output): Promise<void> {
  const place = branch === null ? '' : ` | branch ${branch} from ${base?.slice(0, 10)}`
  await out.words(safe(`crew ${calledCrew(process)} | ${plural(tasks, 'task')}${place}`))
  for (const note of notes) await out.words(out.paintWords('yellow', safe(note)))
}

function bodyOf(args: Args): Omit<CrewUpBody, 'cwd'> & { cwd: string } {
  const file = args.text('file')
  const tasks = args.text('tasks')
  const given = {
    crew: args.words[0], file: file && resolve(file), name: args.text('name'), cwd: resolve(args.text('cwd') ?? '.'),
    coordinator: args.text('coordinator'), workers: workersOf(args.text('workers')), agent: args.text('agent'), model: args.text('model'),
    gate: choice('gate', args.text('gate')), merge: choice('merge', args.text('merge')), permissions: choice('permissions', args.text('permissions')),
    tasks: tasks && resolve(tasks), maxAttempts: args.number('max-attempts'), maxWorkers: args.number('max-workers'),
    reviews: args.on('no-reviews') ? false : undefined, worktrees: args.on('no-worktrees') ? false : undefined, stay: args.on('stay') || undefined,
    limits: some(limitsOf(args)),
  }
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as unknown as ReturnType<typeof bodyOf>
}

/** `3`, or `implementer=2,reviewer=1`. */
function workersOf(text: string | undefined): CrewUpBody['workers'] {
  if (text === undefined) return undefined
  if (/^\d{1,3}$/.test(text)) return Number(text)
  const counts = text.split(',').map((part) => /^(\w+)=(\d{1,3})$/.exec(part.trim()))
  const wrong = counts.find((match) => match === null || !(ROLES as readonly string[]).includes(match[1] ?? ''))
  if (wrong !== undefined) throw new UsageError(`--workers ${text} is neither a number nor ROLE=N,…`, `The roles are ${ROLES.join(', ')}.`)
  const roles = counts.map((match) => match?.[1] ?? '')
  const twice = roles.find((role, index) => roles.indexOf(role) < index)
  if (twice !== undefined) throw new UsageError(`--workers ${text}: ${twice} stands there twice`)
  return Object.fromEntries(counts.map((match) => [match?.[1], Number(match?.[2])]))
}

function choice<K extends keyof typeof CHOICES>(flag: K, text: string | undefined): (typeof CHOICES)[K][number] | undefined {
  const words: readonly string[] = CHOICES[flag]
  if (text !== undefined && !words.includes(text)) throw new UsageError(`--${flag} ${text}: there is ${words.join(', ')}`)
  return text as (typeof CHOICES)[K][number] | undefined
}

function some<T extends object>(value: T): T | undefined {
  return Object.keys(value).length === 0 ? undefined : value
}
