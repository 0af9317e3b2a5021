// `reeve inspect`: one process, all of it. Test: test/e2e/cli.test.ts.
import { limitRows } from '../limit-words.ts'
import type { HoldView, ProcessView, SupervisedView } from '../../api/views.ts'
import { askLines } from '../asks.ts'
import { called, ending, holders, spent } from '../describe.ts'
import { cost, elapsed, plural, shortId, size, took, when } from '../format.ts'
import type { Output } from '../output.ts'
import { pad, safe } from '../text.ts'
import { descendants } from '../tree.ts'
import type { Call } from '../verbs.ts'
import { sentText } from './signals.ts'

export async function run(call: Call): Promise<number> {
  const { args, out, reeve } = call
  const view = await reeve.get(args.words[0] ?? '')
  if (out.json) {
    await out.value(view)
    return 0
  }
  const below = view.children.length === 0 ? [] : descendants(view.pid, await reeve.list({ fields: ['pid', 'ppid', 'name', 'status', 'holds'] }))
  const rows = [...fields(view, out), ...await nodesOf(call, view), ...suspendedBelow(below), ['last text', view.lastText] as const].filter(([, value]) => value !== null && value !== '')
  const longest = Math.max(...rows.map(([label]) => label.length))
  for (const [label, value] of rows) {
    const indented = safe(value ?? '').trimEnd().replaceAll('\n', `\n${' '.repeat(longest + 2)}`)
    await out.line(`${out.paint('dim', pad(label, longest))}  ${indented}`)
  }
  return 0
}

type Row = readonly [label: string, value: string | null]

function fields(view: ProcessView, out: Output): Row[] {
  return [...identity(view), ...state(view, out), ...spending(view), ...rules(view), ...restarts(view), ...family(view)]
}

function identity(view: ProcessView): Row[] {
  return [
    ['PID', String(view.pid)],
    ['UUID', `${view.uuid} (${shortId(view.uuid)})`],
    ['name', view.name],
    ['agent', view.agent],
    ['driver', view.driver],
    ['role', view.role && [view.role, view.phase?.replaceAll('_', ' '), view.taskId].filter((each) => each).join(', ')],
    ['model', view.model],
    ['intent', view.intent],
    ['directory', view.cwd],
    ['worktree', view.worktree && `branch ${view.worktree.branch} of ${view.worktree.base.slice(0, 12)}${view.worktree.recordedStep === null ? '' : `, files of step ${view.worktree.recordedStep} recorded`}`],
    ['host', view.host],
    ['containment', view.containment],
    ['gateway', view.gateway && (view.gateway.on ? 'on' : `off (${view.gateway.why})`)],
    ['session', view.sessionId],
  ]
}

function state(view: ProcessView, out: Output): Row[] {
  const now = Date.now()
  const mark = view.status === 'suspended' ? `${out.pauseMark} ` : ''
  return [
    ['status', mark + ending(view)],
    ['holds', view.holds.map((hold) => holdText(hold, now)).join('\n')],
    ['asks', view.asks.flatMap(askLines).join('\n')],
    ['resumes at', view.resumeAt && when(view.resumeAt, now)],
    ['stopping', view.stopping && `${view.stopping.signal} by ${view.stopping.by}, ${when(view.stopping.at, now)}${view.stopping.wrapsUp ? ': it wraps up' : ''}`],
    ['liveness', view.liveness && `${view.liveness.word} since ${when(view.liveness.since, now)}${view.liveness.evidence === '' ? '' : `: ${view.liveness.evidence}`}`],
    ['note', view.note],
    ['blocked', view.signals.mask.join(', ')],
    ['pending', view.signals.pending.join(', ')],
    ['handlers', Object.entries(view.signals.handlers).map(([name, handler]) => `${name}=${handler}`).join(', ')],
    ['signals', view.signals.recent.map((sent) => sentText(sent, now)).join('\n')],
    ['step', `${view.step} (turn ${view.turn}${view.queueCount > 0 ? `, ${view.queueCount} queued` : ''})`],
    ['created', when(view.createdAt, now)],
    ['started', view.startedAt && when(view.startedAt, now)],
    ['paused', view.pausedAt && when(view.pausedAt, now)],
    ['exited', view.exitedAt && when(view.exitedAt, now)],
    ['elapsed', elapsed(view.elapsedMs)],
  ]
}

function holdText({ reason, root, by, at }: HoldView, now: number): string {
  return `${reason}${root ? `(${shortId(root)})` : ''} by ${by} since ${when(at, now)}`
}

function spending({ usage, subtreeUsage }: ProcessView): Row[] {
  const withKids = subtreeUsage.costUsd > usage.costUsd ? `, ${cost(subtreeUsage.costUsd)} with its descendants` : ''
  return [
    ['usage', [plural(usage.steps, 'step'), plural(usage.turns, 'turn'), plural(usage.toolCalls, 'tool call')].join(', ')],
    ['tokens', spent(usage)],
    ['context', contextText(usage)],
    ['cost', `${cost(usage.costUsd, usage.unpriced)}${usage.estimated ? ' (in part estimated)' : ''}${withKids}`],
    ['CPU time', usage.cpuTimeMs === null ? null : took(usage.cpuTimeMs)],
    ['memory', memoryText(usage)],
    ['output', usage.outputBytes === null ? null : size(usage.outputBytes)],
  ]
}

/** `212 MiB, 310 MiB at most`; of one that does not run the most alone. */
function memoryText({ rssBytes, peakRssBytes }: ProcessView['usage']): string | null {
  if (peakRssBytes === null) return null
  return rssBytes === null || rssBytes === 0 ? `${size(peakRssBytes)} at most` : `${size(rssBytes)}, ${size(peakRssBytes)} at most`
}

/** `81,204 of 200,000 tokens (41 %)`: exact, as it is what the model may still take in. */
function contextText({ contextTokens, contextWindow }: ProcessView['usage']): string | null {
  if (contextTokens === 0) return null
  const used = contextTokens.toLocaleString('en')
  return contextWindow === null ? `${used} tokens` : `${used} of ${contextWindow.toLocaleString('en')} tokens (${Math.round((100 * contextTokens) / contextWindow)} %)`
}

function rules(view: ProcessView): Row[] {
  const { limits, capabilities, pinned } = view
  return [
    ...limitRows(view),
    ['unknown price', limits.unknownPrice === 'refuse' ? 'refused' : null],
    ['tools', capabilities.tools && (capabilities.tools.join(', ') || 'none')],
    ['denied', capabilities.deny.join(', ')],
    ...permits(capabilities),
    ['pinned', pinned ? 'yes' : null],
  ]
}

function restarts({ restart, pendingRestart, childId, supervisor }: ProcessView): Row[] {
  const now = Date.now()
  return [
    ['child id', childId],
    ['restart', restart && `${restart.type}${restart.onComplete ? `, ${restart.onComplete} on completion` : ''}${restart.maxRestarts === undefined || restart.windowMs === undefined ? '' : `, ${restart.maxRestarts} in ${elapsed(restart.windowMs)}`}`],
    ['comes back', pendingRestart && `${pendingRestart.at === null ? 'when its supervisor says so' : when(pendingRestart.at, now)}: ${pendingRestart.cause}`],
    ['strategy', supervisor && `${supervisor.strategy}, ${supervisor.maxRestarts} restarts in ${elapsed(supervisor.windowMs)}`],
    ['supervises', supervisor && supervisor.children.map((child) => supervised(child, now)).join('\n')],
  ]
}

function supervised({ id, uuid, restart, onComplete, restarts: times, nextStart, status, pid }: SupervisedView, now: number): string {
  const words = [restart, onComplete && `${onComplete} on completion`, `${plural(times, 'restart')}`, nextStart && `next start ${when(nextStart, now)}`]
  return `${id}  ${status === null ? 'ended' : `${status} (PID ${pid})`}  ${words.filter((word) => word !== null).join(', ')}  ${shortId(uuid)}`
}

/** What it may do beside its tools, as far as that is limited, and what of all that does not hold. */
function permits({ paths, network, signals, spawns, notes }: ProcessView['capabilities']): Row[] {
  const places = (roots: readonly string[] | null): string | null => roots && (roots.length === 0 ? 'nowhere' : roots.join('\n'))
  return [
    ['reads', places(paths.read)],
    ['writes', places(paths.write)],
    ['network', network === 'off' ? 'off' : null],
    ['signals to', signals === 'subtree' ? null : signals === 'none' ? 'nobody but itself' : 'its children'],
    ['starts', spawns && (spawns.join(', ') || 'nobody')],
    ['not held', notes.join('\n')],
  ]
}

function family(view: ProcessView): Row[] {
  return [
    ['parent', view.ppid === 0 ? '0 (the kernel)' : String(view.ppid)],
    ['children', view.children.map(shortId).join(', ')],
    ['forked from', view.originUuid && `${view.originUuid} at step ${view.originStep}`],
    ['resumed from', view.resumedFromStep === null ? null : `step ${view.resumedFromStep}`],
  ]
}

/** Of a run of a compose file. */
async function nodesOf({ reeve }: Call, { driver, uuid }: ProcessView): Promise<Row[]> {
  if (driver !== 'compose') return []
  const { file, nodes } = await reeve.compose.get(uuid)
  const { nodeLine } = await import('../compose-table.ts')
  const width = Math.max(...nodes.map(({ name }) => name.length))
  return [['file', file], ['nodes', nodes.map((node) => nodeLine(node, width)).join('\n')]]
}

/** What stands still in its subtree, and why: it may be what it waits for. */
function suspendedBelow(below: readonly Pick<ProcessView, 'pid' | 'name' | 'status' | 'holds'>[]): Row[] {
  const still = below.filter(({ status }) => status === 'suspended').map((view) => `${called(view)} ${holders(view)}`)
  return [['suspended below', still.join('\n')]]
}
