// `reeve crew up`: starts a crew and follows it, or with `-d` returns at once. Test: test/e2e/cli/crew.test.ts.
import { resolve } from 'node:path'
import { crewCommandName } from '../../../api/text/answer-command.ts'
import { ApiError } from '../../../api/client/api-error.ts'
import type { CrewUpBody, CrewUpView } from '../../../api/views/crew-up.ts'
import type { Args } from '../../input/args.ts'
import { crewInterrupts, followCrew } from '../../follow/crew.ts'
import { crewTitle } from '../../input/which-crew.ts'
import { UsageError } from '../../errors.ts'
import { printCrewPlan } from '../../print/crew-plan.ts'
import { formatCount } from '../../../faces/format.ts'
import { parseNewLimits } from '../../input/limit-flags.ts'
import type { Output } from '../../print/output.ts'
import { stripControls } from '../../print/text.ts'
import type { Reeve } from '../../../index.ts'
import type { VerbCall } from '../../table/verb.ts'
import { withoutUndefined } from '../../../kernel/util/without-undefined.ts'
import { WORKER_ROLES, COMMIT_GATES, MERGE_MODES } from '../../../kernel/model/crew/words.ts'
import { PERMISSION_POLICIES } from '../../../kernel/model/words.ts'

const CHOICES = { gate: COMMIT_GATES, merge: MERGE_MODES, permissions: PERMISSION_POLICIES } as const

export async function run({ args, out, reeve }: VerbCall): Promise<number> {
  const body = bodyOf(args)
  if (args.on('dry-run')) return printCrewPlan(await reeve.crews.plan(body), out)
  if (args.on('detach')) {
    const started: StartResult = await reeve.crews.up(body).catch((error: unknown) => toFinishedCrew(error, reeve))
    await printStart(started, out)
    if (out.json) await out.value(started)
    else await out.line(started.process.uuid)
    return 0
  }
  using interrupts = crewInterrupts(out, false)
  const started: StartResult = await reeve.crews.up(body).catch((error: unknown) => toFinishedCrew(error, reeve))
  await printStart(started, out)
  if (started.done) {
    if (out.json) await out.value(started)
    return 0
  }
  return await followCrew(started.process, { out, reeve, interrupts })
}

/** The started crew. With `done` it is an earlier crew, which has finished all tasks: nothing was started, which is not an error. */
type StartResult = CrewUpView & { readonly done?: true }

/** Turns the error that an earlier crew has finished all tasks into a result; throws any other error again. */
async function toFinishedCrew(error: unknown, reeve: Reeve): Promise<StartResult> {
  const done =
    error instanceof ApiError ? (error.details?.['done'] as { uuid: string; tasks: number; words: string } | undefined) : undefined
  if (!done) throw error
  const [process, { branch, name, pid }] = await Promise.all([reeve.get(done.uuid), reeve.crews.get(done.uuid)])
  const report = `\`reeve crew report ${crewCommandName({ name, pid })}\` shows who did what`
  return {
    version: 1,
    process,
    branch,
    base: null,
    tasks: done.tasks,
    notes: [`${done.words}: nothing was started`, `${report}; ${(error as ApiError).hint.replace(/\.$/, '')}`],
    done: true,
  }
}

async function printStart({ process, branch, base, tasks, notes, done }: StartResult, out: Output): Promise<void> {
  if (done) return out.message(stripControls(notes.join('\n')))
  const branchText = branch === null ? '' : ` | branch ${branch} from ${base?.slice(0, 10)}`
  await out.message(stripControls(`crew ${crewTitle(process)} | ${formatCount(tasks, 'task')}${branchText}`))
  for (const note of notes) await out.message(out.paintMessage('yellow', stripControls(note)))
}

function bodyOf(args: Args): Omit<CrewUpBody, 'cwd'> & { cwd: string } {
  const file = args.text('file')
  const tasks = args.text('tasks')
  const given = {
    crew: args.words[0],
    file: file && resolve(file),
    name: args.text('name'),
    cwd: resolve(args.text('cwd') ?? '.'),
    coordinator: args.text('coordinator'),
    workers: parseWorkers(args.text('workers')),
    agent: args.text('agent'),
    model: args.text('model'),
    gate: parseChoice('gate', args.text('gate')),
    merge: parseChoice('merge', args.text('merge')),
    permissions: parseChoice('permissions', args.text('permissions')),
    tasks: tasks && resolve(tasks),
    maxAttempts: args.number('max-attempts'),
    maxWorkers: args.number('max-workers'),
    reviews: args.on('no-reviews') ? false : undefined,
    worktrees: args.on('no-worktrees') ? false : undefined,
    stay: args.on('stay') || undefined,
    anew: args.on('anew') || undefined,
    verify: parseCommand('verify', args.text('verify')),
    setup: parseCommand('setup', args.text('setup')),
    copy: mutableCopy(args.list('copy')),
    limits: nonEmpty(parseNewLimits(args)),
  }
  return withoutUndefined(given) as unknown as ReturnType<typeof bodyOf>
}

/** Parses `3` or `implementer=2,reviewer=1`. Errors: usage. */
function parseWorkers(text: string | undefined): CrewUpBody['workers'] {
  if (text === undefined) return undefined
  if (/^\d{1,3}$/.test(text)) return Number(text)
  const counts = text.split(',').map((part) => /^(\w+)=(\d{1,3})$/.exec(part.trim()))
  const invalidPart = counts.find((match) => match === null || !(WORKER_ROLES as readonly string[]).includes(match[1] ?? ''))
  if (invalidPart !== undefined)
    throw new UsageError(`--workers ${text} is neither a number nor ROLE=N,…`, `The roles are ${WORKER_ROLES.join(', ')}.`)
  const roles = counts.map((match) => match?.[1] ?? '')
  const duplicate = roles.find((role, index) => roles.indexOf(role) < index)
  if (duplicate !== undefined) throw new UsageError(`--workers ${text}: ${duplicate} is given twice`)
  return Object.fromEntries(counts.map((match) => [match?.[1], Number(match?.[2])]))
}

function parseChoice<K extends keyof typeof CHOICES>(flag: K, text: string | undefined): (typeof CHOICES)[K][number] | undefined {
  const words: readonly string[] = CHOICES[flag]
  if (text !== undefined && !words.includes(text)) throw new UsageError(`--${flag} ${text}: choose from ${words.join(', ')}`)
  return text as (typeof CHOICES)[K][number] | undefined
}

/** Parses the command of a flag. `off`: no command, not even that of the file. */
function parseCommand(flag: string, text: string | undefined): CrewUpBody['verify'] {
  if (text === undefined) return undefined
  if (text.trim() === '')
    throw new UsageError(`--${flag} is empty`, `Give a command, such as --${flag} "npm test"; --${flag} off runs none.`)
  return text === 'off' ? false : { command: text }
}

function mutableCopy(words: readonly string[] | undefined): string[] | undefined {
  return words === undefined ? undefined : [...words]
}

function nonEmpty<T extends object>(value: T): T | undefined {
  return Object.keys(value).length === 0 ? undefined : value
}
