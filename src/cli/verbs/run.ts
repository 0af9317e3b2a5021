// `reeve run`: starts a process and follows it, or with `-d` returns at once. Test: test/e2e/cli/run.test.ts.
import { parseNewLimits } from '../input/limit-flags.ts'
import { resolve } from 'node:path'
import { ApiError } from '../../api/client/api-error.ts'
import type { ProcessView, SpawnBody } from '../../api/views/process.ts'
import type { Args } from '../input/args.ts'
import { startText } from '../print/process-text.ts'
import { parseEffort } from '../input/effort.ts'
import { parseGatewayMode } from '../input/gateway-mode.ts'
import { UsageError } from '../errors.ts'
import { parseLabels } from '../input/labels.ts'
import { followStarted } from '../follow/follow-started.ts'
import { readIntent } from '../input/intent.ts'
import { Interrupts } from '../input/interrupts.ts'
import type { Output } from '../print/output.ts'
import { readCommandInput, withTextOfStdin } from '../input/stdin.ts'
import { oneLine, stripControls } from '../print/text.ts'
import type { CommandContext, VerbCall } from '../table/verb.ts'
import { withoutUndefined } from '../../kernel/util/without-undefined.ts'
import { CONTAINMENT_KINDS, PERMISSION_POLICIES, RESTART_WORDS } from '../../kernel/model/words.ts'

export const CONTAINMENTS = ['auto', ...CONTAINMENT_KINDS] as const

export async function run({ args, out, reeve }: VerbCall): Promise<number> {
  const body = await withInput(bodyOf(args, await readIntent(args, args.text('intent-file'))), { args, out })
  if (!args.on('detach')) return runAndFollow(body, { out, reeve })
  const process = await spawnAndReport(body, { out, reeve })
  if (out.json) await out.value({ process })
  else await out.line(process.uuid)
  return 0
}

/** Adds the text on stdin: as the input of the command to start, or to the intent of the command line. */
async function withInput(body: SpawnBody, { args, out }: Pick<VerbCall, 'args' | 'out'>): Promise<SpawnBody> {
  const [word] = args.words
  if (word !== undefined && word !== '-' && body.intent !== undefined && !args.on('interactive'))
    return { ...body, intent: await withTextOfStdin(body.intent, out) }
  const input = body.argv && (await readCommandInput(out))
  return input === undefined ? body : { ...body, input }
}

async function runAndFollow(body: SpawnBody, { out, reeve }: CommandContext): Promise<number> {
  using interrupts = new Interrupts(out, { detachOnly: false })
  const started = await spawnAndReport(body, { out, reeve })
  const code = await followStarted(started, { out, reeve, interrupts, after: 0 })
  if (body.removeAtEnd) await removeEnded(started.uuid, { out, reeve })
  return code
}

/** Removes the process if it has ended, or reports why it stays. After any other failure the daemon removes it later. */
async function removeEnded(uuid: string, { out, reeve }: CommandContext): Promise<void> {
  // Without an answer there is nothing to report.
  const ended = await reeve.get(uuid).catch(() => null)
  if (ended?.state !== 'dead' || ended.status === 'interrupted') return
  try {
    await reeve.remove(uuid, { unchanged: true })
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== 'CONFLICT') return
    await out.message(
      out.paintMessage('yellow', `${stripControls(error.message)}, so it is not removed; \`reeve rm ${ended.pid}\` removes it`),
    )
  }
}

async function spawnAndReport(body: SpawnBody, { out, reeve }: CommandContext): Promise<ProcessView> {
  const notes: string[] = []
  const started = await reeve.spawn(body, { onNote: (note) => notes.push(note) })
  await printStart(started, out)
  for (const note of notes) await out.message(out.paintMessage('yellow', oneLine(note)))
  return started
}

async function printStart(process: ProcessView, out: Output): Promise<void> {
  const agent = process.driver === 'command' || process.agent === 'default' ? '' : ` | agent ${oneLine(process.agent)}`
  const worktreeText = process.worktree ? ` | branch ${oneLine(process.worktree.branch)} in ${oneLine(process.worktree.dir)}` : ''
  await out.message(startText(process) + agent + worktreeText)
}

/** Returns the request for the daemon. Checks only what the daemon cannot check. Errors: usage. */
function bodyOf(args: Args, intent: string | undefined): SpawnBody {
  const { command } = args
  if (command?.length === 0) throw new UsageError('the command after -- is missing')
  if (command && intent !== undefined) throw new UsageError(`an intent ("${intent}") and a command exclude each other`)
  if (args.text('supervisor') !== undefined) return supervisorBody(args, intent)
  if (!command && intent === undefined && !args.on('interactive')) {
    throw new UsageError('the intent is missing', 'Give an intent in quotes, a command after --, or --interactive.')
  }
  return withoutUndefined({
    intent,
    argv: command ? [...command] : undefined,
    agent: args.text('agent'),
    model: args.text('model'),
    effort: parseEffort(args.text('effort')),
    fallback: args.list('fallback'),
    name: args.text('name'),
    labels: parseLabels(args.texts('label')),
    cwd: resolve(args.text('cwd') ?? '.'),
    worktree: args.on('worktree') || undefined,
    parent: args.text('parent'),
    removeAtEnd: args.on('rm') || undefined,
    interactive: args.on('interactive') || undefined,
    allow: args.list('allow'),
    deny: args.list('deny'),
    mcp: args.list('mcp'),
    permissions: parsePermissions(args.text('permissions')),
    gateway: parseGatewayMode(args.text('gateway')),
    wake: args.on('wake') || undefined,
    instructions: args.on('no-instructions') ? false : undefined,
    skills: args.on('no-skills') ? false : undefined,
    reeve: args.on('reeve') || undefined,
    restart: parseRestart(args.text('restart')),
    childId: args.text('child-id'),
    containment: parseContainment(args.text('containment')),
    limits: parseNewLimits(args),
    env: process.env as Record<string, string>,
  }) as SpawnBody
}

/** Returns the request for a supervisor. The file of the supervisor defines its children, which do the work. Errors: usage. */
function supervisorBody(args: Args, intent: string | undefined): SpawnBody {
  if (args.on('rm')) throw new UsageError('--rm and --supervisor exclude each other')
  if (args.command || intent !== undefined) throw new UsageError('a supervisor takes no intent and no command; its children have them')
  return withoutUndefined({
    supervisor: args.text('supervisor'),
    name: args.text('name'),
    labels: parseLabels(args.texts('label')),
    cwd: resolve(args.text('cwd') ?? '.'),
    parent: args.text('parent'),
    childId: args.text('child-id'),
    restart: parseRestart(args.text('restart')),
    limits: parseNewLimits(args),
    env: process.env as Record<string, string>,
  }) as SpawnBody
}

function parseRestart(text: string | undefined): SpawnBody['restart'] {
  const word = RESTART_WORDS.find((each) => each === text)
  if (text !== undefined && !word) throw new UsageError(`--restart ${text}: choose from ${RESTART_WORDS.join(', ')}`)
  return word
}

function parsePermissions(text: string | undefined): SpawnBody['permissions'] {
  const policy = PERMISSION_POLICIES.find((each) => each === text)
  if (text !== undefined && !policy) throw new UsageError(`--permissions ${text}: choose from ${PERMISSION_POLICIES.join(', ')}`)
  return policy
}

function parseContainment(text: string | undefined): SpawnBody['containment'] {
  const kind = CONTAINMENTS.find((each) => each === text)
  if (text !== undefined && !kind) throw new UsageError(`--containment ${text}: choose from ${CONTAINMENTS.join(', ')}`)
  return kind
}
