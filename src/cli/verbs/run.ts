// `reeve run`: starts a process and follows it, or with `-d` returns at once. Test: test/e2e/cli-run.test.ts.
import { limitsOf } from '../limit-flags.ts'
import { resolve } from 'node:path'
import type { ProcessView, SpawnBody } from '../../api/views.ts'
import type { Args } from '../args.ts'
import { isPlain, spawned } from '../describe.ts'
import { effortOf } from '../effort.ts'
import { gatewayOf } from '../gateway-mode.ts'
import { UsageError } from '../errors.ts'
import { follow, type View } from '../follow.ts'
import { intentOf } from '../intent.ts'
import { Interrupts } from '../interrupts.ts'
import type { Output } from '../output.ts'
import { oneLine } from '../text.ts'
import type { Call } from '../verbs.ts'

export const PERMISSIONS = ['ask', 'allow', 'deny'] as const
export const RESTARTS = ['no', 'on-failure', 'always', 'permanent', 'transient', 'temporary'] as const
export const CONTAINMENTS = ['auto', 'cgroup', 'pidns', 'group'] as const

export async function run({ args, out, reeve }: Call): Promise<number> {
  const body = bodyOf(args, await intentOf(args, args.text('intent-file')))
  if (!args.on('detach')) return runAndFollow(body, { out, reeve })
  const process = await spawnAndTell(body, { out, reeve })
  if (out.json) await out.value({ process })
  else await out.line(process.uuid)
  return 0
}

async function runAndFollow(body: SpawnBody, { out, reeve }: Omit<Call, 'args'>): Promise<number> {
  using interrupts = new Interrupts(out, { leaves: false })
  const started = await spawnAndTell(body, { out, reeve })
  const view = await viewFor(started, out)
  if (isPlain(started) || !out.isLively) return await follow(started, { reeve, out, view, interrupts })
  // It may ask, and the answer is typed.
  if ((body.interactive || started.driver === 'acp') && process.stdin.isTTY) {
    interrupts[Symbol.dispose]()
    const { attachTerminal } = await import('../live/attach.ts')
    return await attachTerminal(started, { reeve, out, view, from: { after: 0 } })
  }
  const { LiveRows } = await import('../live/live-rows.ts')
  using rows = new LiveRows(started, { out, view })
  return await follow(started, { reeve, out, view: rows, interrupts })
}

async function spawnAndTell(body: SpawnBody, { out, reeve }: Omit<Call, 'args'>): Promise<ProcessView> {
  const notes: string[] = []
  const started = await reeve.spawn(body, { onNote: (note) => notes.push(note) })
  await tell(started, out)
  for (const note of notes) await out.words(out.paintWords('yellow', oneLine(note)))
  return started
}

async function tell(process: ProcessView, out: Output): Promise<void> {
  const agent = process.driver === 'command' || process.agent === 'default' ? '' : ` | agent ${oneLine(process.agent)}`
  const place = process.worktree ? ` | branch ${oneLine(process.worktree.branch)} in ${oneLine(process.worktree.dir)}` : ''
  await out.words(spawned(process) + agent + place)
}

async function viewFor(started: ProcessView, out: Output): Promise<View> {
  if (!out.json && !isPlain(started)) return new (await import('../live-view.ts')).LiveView(out)
  const { CommandView, JsonView } = await import('../plain-views.ts')
  return out.json ? new JsonView(out) : new CommandView(out)
}

/** What is asked of the daemon. Nothing is decided here that the daemon can decide. */
function bodyOf(args: Args, intent: string | undefined): SpawnBody {
  const { command } = args
  if (command?.length === 0) throw new UsageError('there is no command after --')
  if (command && intent !== undefined) throw new UsageError(`an intent ("${intent}") and a command do not go together`)
  if (args.text('supervisor') !== undefined) return familyOf(args, intent)
  if (!command && intent === undefined && !args.on('interactive')) {
    throw new UsageError('what is it to do?', 'Give an intent in quotes, a command after --, or --interactive.')
  }
  return defined({
    intent,
    argv: command ? [...command] : undefined,
    agent: args.text('agent'),
    model: args.text('model'),
    effort: effortOf(args.text('effort')),
    fallback: args.list('fallback'),
    name: args.text('name'),
    cwd: resolve(args.text('cwd') ?? '.'),
    worktree: args.on('worktree') || undefined,
    parent: args.text('parent'),
    interactive: args.on('interactive') || undefined,
    allow: args.list('allow'),
    deny: args.list('deny'),
    mcp: args.list('mcp'),
    permissions: permissionsOf(args.text('permissions')),
    gateway: gatewayOf(args.text('gateway')),
    wake: args.on('wake') || undefined,
    reeve: args.on('reeve') || undefined,
    restart: restartOf(args.text('restart')),
    childId: args.text('child-id'),
    containment: containmentOf(args.text('containment')),
    limits: limitsOf(args),
    env: process.env as Record<string, string>,
  }) as SpawnBody
}

/** Its children are what is run, and stand in a file. */
function familyOf(args: Args, intent: string | undefined): SpawnBody {
  if (args.command || intent !== undefined) throw new UsageError('a supervisor has neither an intent nor a command: its children have')
  return defined({
    supervisor: args.text('supervisor'),
    name: args.text('name'),
    cwd: resolve(args.text('cwd') ?? '.'),
    parent: args.text('parent'),
    childId: args.text('child-id'),
    restart: restartOf(args.text('restart')),
    limits: limitsOf(args),
    env: process.env as Record<string, string>,
  }) as SpawnBody
}

function restartOf(text: string | undefined): SpawnBody['restart'] {
  const word = RESTARTS.find((each) => each === text)
  if (text !== undefined && !word) throw new UsageError(`--restart ${text}: there is ${RESTARTS.join(', ')}`)
  return word
}

function permissionsOf(text: string | undefined): SpawnBody['permissions'] {
  const policy = PERMISSIONS.find((each) => each === text)
  if (text !== undefined && !policy) throw new UsageError(`--permissions ${text}: there is ${PERMISSIONS.join(', ')}`)
  return policy
}

function containmentOf(text: string | undefined): SpawnBody['containment'] {
  const kind = CONTAINMENTS.find((each) => each === text)
  if (text !== undefined && !kind) throw new UsageError(`--containment ${text}: there is ${CONTAINMENTS.join(', ')}`)
  return kind
}

/** Without what was not given: the API tells absent from undefined. */
function defined<T extends object>(fields: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as { [K in keyof T]?: Exclude<T[K], undefined> }
}
