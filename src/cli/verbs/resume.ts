// `reeve resume`: wakes what is suspended, begins a new incarnation of what has ended, forks. Tests: test/e2e/cli.test.ts,
// test/e2e/cli-resume.test.ts.
import { changesOf, moreOf } from '../limit-flags.ts'
import { resolve } from 'node:path'
import type { ProcessView, ResumeBody, SteerView } from '../../api/views.ts'
import type { Args } from '../args.ts'
import { called, hasEnded, spawned } from '../describe.ts'
import { also } from '../end.ts'
import { UsageError } from '../errors.ts'
import { factOf } from '../facts.ts'
import { shortId } from '../format.ts'
import { effortOf } from '../effort.ts'
import { gatewayOf } from '../gateway-mode.ts'
import { patiently } from '../patience.ts'
import { safe } from '../text.ts'
import type { Call } from '../verbs.ts'

/** Among these the reason of a hold is looked for. */
const LAST_EVENTS = 100

export async function run(call: Call): Promise<number> {
  const { args, out, reeve } = call
  const [ref] = args.words
  if (args.on('all-interrupted')) {
    if (ref !== undefined) throw new UsageError('--all-interrupted takes no process')
    return (await import('../all-interrupted.ts')).resumeAll(call)
  }
  if (ref === undefined) throw new UsageError('resume needs a process', 'Usage: reeve resume [FLAG]... P')
  checkWords(args)
  const before = await reeve.get(ref)
  if (!out.json) for (const line of announced(before, args)) await out.words(line)
  const answer = await patiently(out, () => 'reading its history', reeve.resume(before.uuid, bodyOf(args)))
  const { process } = answer
  if (out.json) await out.value({ ...answer })
  else await tell(call, before, answer)
  if (!out.json && args.on('fork')) await out.line(process.uuid)
  if (!out.json && process.holds.some(({ reason }) => reason === 'budget')) await out.words(await wayOn(call, process))
  return 0
}

/** The limit that holds it, and whose that is, was told when it was held: what came since is little, as nothing goes on. */
async function wayOn({ reeve }: Call, { uuid, pid }: ProcessView): Promise<string> {
  let way = `\`reeve inspect ${pid}\` says what it has used of which limit, \`reeve help resume\` which flag gives it more`
  for await (const event of reeve.events({ process: uuid, tail: LAST_EVENTS })) {
    const fact = factOf(event)
    if (fact?.type === 'limit.reached') way = `${moreOf(fact.limit, fact.scope === uuid ? String(pid) : shortId(fact.scope))} gives it more`
  }
  return way
}

/** The daemon says the same; said here it is a mistake of the command line. */
function checkWords(args: Args): void {
  const fork = args.on('fork')
  if (args.on('from-step') && args.on('from-checkpoint')) throw new UsageError('--from-step and --from-checkpoint do not go together', 'Each says where to begin.')
  if (args.on('from-step') && !fork) throw new UsageError('--from-step needs --fork', 'A process goes on from its last step; a fork of it can begin at an earlier one.')
  if (args.on('with-files') && !fork) throw new UsageError('--with-files needs --fork', 'A process goes on in its own directory.')
  if (args.on('yes')) throw new UsageError('--yes goes with --all-interrupted')
}

function bodyOf(args: Args): ResumeBody {
  const message = args.text('message')
  const model = args.text('model')
  const effort = effortOf(args.text('effort'))
  const name = args.text('name')
  const cwd = args.text('cwd')
  const fromStep = args.number('from-step')
  const gateway = gatewayOf(args.text('gateway'))
  const [allow, deny] = [args.list('allow'), args.list('deny')]
  return {
    ...(allow ? { allow: [...allow] } : {}), ...(deny ? { deny: [...deny] } : {}),
    subtree: args.on('subtree'), only: args.on('only'), rerun: args.on('rerun'),
    fork: args.on('fork'), fromCheckpoint: args.on('from-checkpoint'), withFiles: args.on('with-files'), ...(fromStep === undefined ? {} : { fromStep }),
    ...(message === undefined ? {} : { message }), ...(model === undefined ? {} : { model }), ...(effort === undefined ? {} : { effort }),
    ...(gateway === undefined ? {} : { gateway }), ...(name === undefined ? {} : { name }), ...(cwd === undefined ? {} : { cwd: resolve(cwd) }), ...changesOf(args),
  }
}

/** `resuming 4a2910cf from checkpoint (step 10/20)...`: it may take a moment. */
function announced(before: ProcessView, args: Args): string[] {
  const { checkpointStep, limits } = before
  if (args.on('fork') || args.on('rerun') || !hasEnded(before) || checkpointStep === null) return []
  return [`resuming ${shortId(before.uuid)} from checkpoint (step ${checkpointStep}${limits.maxSteps === undefined ? '' : `/${limits.maxSteps}`})...`]
}

async function tell({ args, out }: Call, before: ProcessView, answer: SteerView): Promise<void> {
  const { process } = answer
  if (args.on('fork')) {
    await out.words(`forking from ${shortId(before.uuid)} after step ${process.originStep} -> new UUID ${shortId(process.uuid)}`)
    await out.words(safe(`${spawned(process)} | forked from ${shortId(before.uuid)}${also(answer)}`))
  } else if (hasEnded(before)) await out.words(safe(`${spawned(process)} | resumed from ${shortId(before.uuid)}${also(answer)}`))
  else await out.words(safe(`${called(process)} ${process.status}${also(answer)}`))
}
