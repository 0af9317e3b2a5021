// `reeve resume`: resumes a suspended process, starts a new incarnation of an ended one, or forks one. Tests:
// test/e2e/cli/cli.test.ts, test/e2e/cli/resume.test.ts.
import { parseLimitChanges } from '../input/limit-flags.ts'
import { resolve } from 'node:path'
import type { ProcessView, ResumeBody, SteerView } from '../../api/views/process.ts'
import { forEachSelected } from '../actions/for-each-process.ts'
import type { Args } from '../input/args.ts'
import { isNamePattern } from '../input/name-pattern.ts'
import { CAPABILITIES } from '../../kernel/model/capabilities.ts'
import { findBlock } from '../print/blocked.ts'
import { processTitle, hasEnded, startText } from '../print/process-text.ts'
import { outcomeSuffix } from '../actions/signal-outcome.ts'
import { UsageError } from '../errors.ts'
import { shortId } from '../../faces/format.ts'
import { parseEffort } from '../input/effort.ts'
import { parseGatewayMode } from '../input/gateway-mode.ts'
import { followStarted } from '../follow/follow-started.ts'
import { Interrupts } from '../input/interrupts.ts'
import { replayEvents } from '../follow/replay-events.ts'
import { withWaitNote } from '../follow/wait-note.ts'
import { stripControls } from '../print/text.ts'
import type { VerbCall } from '../table/verb.ts'

export async function run(call: VerbCall): Promise<number> {
  const { args, out, reeve } = call
  const [ref, ...others] = args.words
  if (args.on('all-interrupted')) {
    if (ref !== undefined || args.on('all')) throw new UsageError('--all-interrupted takes no process, and excludes --all')
    return (await import('../actions/resume-all-interrupted.ts')).resumeAllInterrupted(call)
  }
  if (ref === undefined && !args.on('all') && !args.on('label'))
    throw new UsageError('resume needs a process', 'Usage: reeve resume [FLAG]... P...')
  checkFlags(args)
  if (ref === undefined || others.length > 0 || isNamePattern(ref)) return resumeSeveral(call)
  const before = await reeve.get(ref)
  const body = bodyOf(args)
  using interrupts = isFollowed(call, before) ? new Interrupts(out, { detachOnly: false }) : null
  const after = interrupts ? await replayEvents(reeve, before.uuid, { tail: 1 }, null) : 0
  if (!out.json) for (const line of announcement(before, args)) await out.message(line)
  const answer = await withWaitNote(
    out,
    () => ({ key: 'resume', what: `the daemon to read the history of ${processTitle(before)}`, ends: 'Ctrl+C ends only this command' }),
    reeve.resume(before.uuid, body),
  )
  const { process } = answer
  if (out.json) await out.value({ ...answer })
  else for (const line of resultLines(args, before, answer)) await out.message(line)
  if (!out.json && args.on('fork') && !interrupts) await out.line(process.uuid)
  const block = out.json || args.on('fork') ? null : findBlock(process)
  if (block) await out.message(block.next)
  else if (interrupts && answer.affected > 0) return await followStarted(process, { out, reeve, interrupts, after })
  return exitOf(args, answer)
}

/** Returns the exit code. It is 1 if the process is still suspended, because of another hold or a missing key. */
function exitOf(args: Args, { missing, process }: SteerView): 0 | 1 {
  return !args.on('fork') && (missing !== undefined || process.status === 'suspended') ? 1 : 0
}

/** Resumes several processes side by side. A pattern and `--all` select suspended processes. They are not followed. */
function resumeSeveral(call: VerbCall): Promise<number> {
  const { args, reeve } = call
  const single = ['fork', 'name', 'from-checkpoint'].find((flag) => args.on(flag))
  if (single !== undefined) throw new UsageError(`--${single} is for one process`, 'Name it by its PID, its name or its ID.')
  const body = bodyOf(args)
  return forEachSelected(call, {
    rules: { canActOn: ({ status }) => status === 'suspended', adjective: 'suspended', leavesChildrenToOwner: false },
    question: 'Resume',
    outcome: 'resumed',
    act: async (ref, { selected }) => {
      const before = await reeve.get(ref)
      // A crew, supervisor or run that `pause --all` has paused was paused with its children.
      const subtree =
        body.subtree === true || (args.on('all') && selected !== undefined && CAPABILITIES[selected.driver].supervisesChildren)
      const answer = await reeve.resume(before.uuid, { ...body, subtree })
      const block = findBlock(answer.process)
      // A child that was resumed together with its selected owner needs no remark.
      const { note: _, ...plain } = answer
      const shown = selected !== undefined && answer.process.status !== 'suspended' ? plain : answer
      const lines = [...resultLines(args, before, shown), ...(block ? [block.next] : [])]
      return { message: lines.join('\n'), fields: { ...answer }, ...(exitOf(args, answer) === 0 ? {} : { exit: 1 }) }
    },
  })
}

/** Whether to follow the process, as `run` does. Not with `-d` or `--json`, and not a crew, a run or a supervisor. */
function isFollowed({ args, out }: VerbCall, { driver }: ProcessView): boolean {
  return !args.on('detach') && !out.json && !CAPABILITIES[driver].supervisesChildren
}

/** Checks the combination of flags. The daemon would refuse it as well, but not as a usage error. Errors: usage. */
function checkFlags(args: Args): void {
  const fork = args.on('fork')
  if (args.on('from-step') && args.on('from-checkpoint'))
    throw new UsageError('--from-step and --from-checkpoint exclude each other', 'Both name the starting point.')
  if (args.on('from-step') && !fork)
    throw new UsageError('--from-step needs --fork', 'A process continues from its last step; only a fork can begin at an earlier one.')
  if (args.on('with-files') && !fork) throw new UsageError('--with-files needs --fork', 'A process continues in its own directory.')
  if (args.on('yes') && !args.on('all')) throw new UsageError('--yes needs --all or --all-interrupted')
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

/** Returns the lines about the result. */
function resultLines(args: Args, before: ProcessView, answer: SteerView): string[] {
  const { process } = answer
  const suffix = outcomeSuffix(answer)
  if (args.on('fork'))
    return [
      `forking from ${shortId(before.uuid)} after step ${process.originStep} -> new UUID ${shortId(process.uuid)}`,
      stripControls(`${startText(process)} | forked from ${shortId(before.uuid)}${suffix}`),
    ]
  if (answer.missing)
    return [
      stripControls(`${processTitle(process)} is suspended${suffix}: set it in this shell, or in credentials.yaml, and resume it again`),
    ]
  const isNewIncarnation = hasEnded(before) && answer.affected > 0
  const what = isNewIncarnation
    ? `${startText(process)} | resumed from ${shortId(before.uuid)}`
    : `${processTitle(process)} ${process.status}`
  return [stripControls(`${what}${suffix}`)]
}
