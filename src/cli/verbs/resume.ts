// `reeve resume`: resumes a suspended process, starts a new incarnation of an ended one, or forks one. Tests:
// test/e2e/cli/cli.test.ts, test/e2e/cli/resume.test.ts.
import { parseLimitChanges } from '../input/limit-flags.ts'
import { resolve } from 'node:path'
import type { ProcessView, ResumeBody, SteerView } from '../../api/views/process.ts'
import type { Args } from '../input/args.ts'
import { CAPABILITIES } from '../../kernel/model/capabilities.ts'
import { findBlock } from '../print/blocked.ts'
import { processTitle, hasEnded, driverText } from '../print/describe.ts'
import { outcomeSuffix } from '../actions/stop-and-wait.ts'
import { UsageError } from '../errors.ts'
import { shortId } from '../print/format.ts'
import { parseEffort } from '../input/effort.ts'
import { parseGatewayMode } from '../input/gateway-mode.ts'
import { followHere } from '../follow/follow-here.ts'
import { Interrupts } from '../input/interrupts.ts'
import { replayEvents } from '../follow/replay-events.ts'
import { withWaitNotice } from '../follow/wait-notice.ts'
import { stripControls } from '../print/text.ts'
import type { VerbCall } from '../table/verb.ts'

export async function run(call: VerbCall): Promise<number> {
  const { args, out, reeve } = call
  const [ref] = args.words
  if (args.on('all-interrupted')) {
    if (ref !== undefined) throw new UsageError('--all-interrupted takes no process')
    return (await import('../actions/all-interrupted.ts')).resumeAllInterrupted(call)
  }
  if (ref === undefined) throw new UsageError('resume needs a process', 'Usage: reeve resume [FLAG]... P')
  checkFlags(args)
  const before = await reeve.get(ref)
  const body = bodyOf(args)
  using interrupts = isFollowed(call, before) ? new Interrupts(out, { detachOnly: false }) : null
  const after = interrupts ? await replayEvents(reeve, before.uuid, { tail: 1 }, null) : 0
  if (!out.json) for (const line of announcement(before, args)) await out.message(line)
  const answer = await withWaitNotice(out, () => 'reading its history', reeve.resume(before.uuid, body))
  const { process } = answer
  if (out.json) await out.value({ ...answer })
  else await printResult(call, before, answer)
  if (!out.json && args.on('fork')) await out.line(process.uuid)
  const block = out.json || args.on('fork') ? null : findBlock(process)
  if (block) await out.message(block.next)
  else if (interrupts && answer.affected > 0) return await followHere(process, { out, reeve, interrupts, after })
  // The exit code is 1 if the process is still suspended, because of another hold or a missing key.
  return !args.on('fork') && (answer.missing !== undefined || process.status === 'suspended') ? 1 : 0
}

/** Whether to follow the process, as `run` does: on a terminal, unless its driver has no output. */
function isFollowed({ args, out }: VerbCall, { driver }: ProcessView): boolean {
  return !args.on('detach') && out.isLively && out.isTerminal('stdout') && !CAPABILITIES[driver].supervisesChildren
}

/** Checks the combination of flags. The daemon would refuse it as well, but not as a usage error. Errors: usage. */
function checkFlags(args: Args): void {
  const fork = args.on('fork')
  if (args.on('from-step') && args.on('from-checkpoint'))
    throw new UsageError('--from-step and --from-checkpoint exclude each other', 'Both name the starting point.')
  if (args.on('from-step') && !fork)
    throw new UsageError('--from-step needs --fork', 'A process continues from its last step; only a fork can begin at an earlier one.')
  if (args.on('with-files') && !fork) throw new UsageError('--with-files needs --fork', 'A process continues in its own directory.')
  if (args.on('yes')) throw new UsageError('--yes needs --all-interrupted')
}

function bodyOf(args: Args): ResumeBody {
  const message = args.text('message')
  const model = args.text('model')
  const effort = parseEffort(args.text('effort'))
  const name = args.text('name')
  const cwd = args.text('cwd')
  const fromStep = args.number('from-step')
  const gateway = parseGatewayMode(args.text('gateway'))
  const [allow, deny] = [args.list('allow'), args.list('deny')]
  return {
    ...(allow ? { allow: [...allow] } : {}),
    ...(deny ? { deny: [...deny] } : {}),
    subtree: args.on('subtree'),
    only: args.on('only'),
    rerun: args.on('rerun'),
    fork: args.on('fork'),
    fromCheckpoint: args.on('from-checkpoint'),
    withFiles: args.on('with-files'),
    ...(fromStep === undefined ? {} : { fromStep }),
    ...(message === undefined ? {} : { message }),
    ...(model === undefined ? {} : { model }),
    ...(effort === undefined ? {} : { effort }),
    ...(gateway === undefined ? {} : { gateway }),
    ...(name === undefined ? {} : { name }),
    ...(cwd === undefined ? {} : { cwd: resolve(cwd) }),
    ...parseLimitChanges(args),
  }
}

/** Returns the line before a resume, which may take some time: `resuming 4a2910cf from checkpoint (step 10/20)...`. */
function announcement(before: ProcessView, args: Args): string[] {
  const { checkpointStep, limits } = before
  if (args.on('fork') || args.on('rerun') || !hasEnded(before) || checkpointStep === null) return []
  return [
    `resuming ${shortId(before.uuid)} from checkpoint (step ${checkpointStep}${limits.maxSteps === undefined ? '' : `/${limits.maxSteps}`})...`,
  ]
}

async function printResult({ args, out }: VerbCall, before: ProcessView, answer: SteerView): Promise<void> {
  const { process } = answer
  if (args.on('fork')) {
    await out.message(`forking from ${shortId(before.uuid)} after step ${process.originStep} -> new UUID ${shortId(process.uuid)}`)
    await out.message(stripControls(`${driverText(process)} | forked from ${shortId(before.uuid)}${outcomeSuffix(answer)}`))
  } else if (answer.missing)
    await out.message(
      stripControls(
        `${processTitle(process)} is suspended${outcomeSuffix(answer)}: set it in this shell, or in credentials.yaml, and resume it again`,
      ),
    )
  else if (hasEnded(before) && answer.affected > 0)
    await out.message(stripControls(`${driverText(process)} | resumed from ${shortId(before.uuid)}${outcomeSuffix(answer)}`))
  else await out.message(stripControls(`${processTitle(process)} ${process.status}${outcomeSuffix(answer)}`))
}
