// `reeve inspect`: prints everything about one process. Test: test/e2e/cli/cli.test.ts.
import { labelsText } from '../../api/text/labels-text.ts'
import { limitRows } from '../print/limits.ts'
import type { HoldView, ProcessView, SupervisedView } from '../../api/views/process.ts'
import { questionLines } from '../input/questions.ts'
import { processTitle, endingText, holdsText, tokensText } from '../print/process-text.ts'
import { formatCost, formatElapsed, formatCount, shortId, formatBytes, formatDuration, formatMoment } from '../../faces/format.ts'
import type { Output } from '../print/output.ts'
import { wrapText } from '../print/prose.ts'
import { oneLine, padWidth, stripControls } from '../print/text.ts'
import { descendantsOf } from '../print/tree.ts'
import { resolveForRead } from '../input/which-process.ts'
import { sentSignalText } from './signals.ts'
import type { VerbCall } from '../table/verb.ts'

export async function run(call: VerbCall): Promise<number> {
  const { args, out, reeve } = call
  const view = await resolveForRead(args.words[0] ?? '', out, (ref) => reeve.get(ref))
  if (out.json) {
    await out.value(view)
    return 0
  }
  const descendants =
    view.children.length === 0 ? [] : descendantsOf(view.pid, await reeve.list({ fields: ['pid', 'ppid', 'name', 'status', 'holds'] }))
  const rows = [
    ...allRows(view, out),
    ...(await nodeRows(call, view)),
    ...suspendedDescendantRows(descendants),
    ['last text', view.lastText] as const,
  ].filter(([, value]) => value !== null && value !== '')
  const longest = Math.max(...rows.map(([label]) => label.length))
  for (const [label, value] of rows) {
    const indented = wrapText(stripControls(value ?? '').trimEnd(), out.proseColumns('stdout'), ' '.repeat(longest + 2))
    await out.line(`${out.paint('dim', padWidth(label, longest))}  ${indented}`)
  }
  return 0
}

type Row = readonly [label: string, value: string | null]

function allRows(view: ProcessView, out: Output): Row[] {
  return [
    ...identityRows(view),
    ...stateRows(view, out),
    ...usageRows(view),
    ...limitAndToolRows(view),
    ...restartRows(view),
    ...relationRows(view),
  ]
}

function identityRows(view: ProcessView): Row[] {
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
    [
      'worktree',
      view.worktree &&
        `branch ${view.worktree.branch} from ${view.worktree.base.slice(0, 12)}${view.worktree.recordedStep === null ? '' : `, files of step ${view.worktree.recordedStep} recorded`}`,
    ],
    ['host', view.host],
    ['containment', view.containment],
    ['gateway', view.gateway && (view.gateway.on ? 'on' : `off (${view.gateway.why})`)],
    ['session', view.sessionId],
  ]
}

function stateRows(view: ProcessView, out: Output): Row[] {
  const now = Date.now()
  const mark = view.status === 'suspended' ? `${out.pauseMark} ` : ''
  return [
    ['status', mark + endingText(view)],
    ['holds', view.holds.map((hold) => holdText(hold, now)).join('\n')],
    ['asks', view.asks.flatMap(questionLines).join('\n')],
    ['resumes at', view.resumeAt && formatMoment(view.resumeAt, now)],
    [
      'stopping',
      view.stopping &&
        `${view.stopping.signal} by ${view.stopping.by}, ${formatMoment(view.stopping.at, now)}${view.stopping.wrapsUp ? ': wrapping up' : ''}`,
    ],
    [
      'liveness',
      view.liveness &&
        `${view.liveness.word} since ${formatMoment(view.liveness.since, now)}${view.liveness.evidence === '' ? '' : `: ${view.liveness.evidence}`}`,
    ],
    ['note', view.note],
    ['blocked', view.signals.mask.join(', ')],
    ['pending', view.signals.pending.join(', ')],
    [
      'handlers',
      Object.entries(view.signals.handlers)
        .map(([name, handler]) => `${name}=${handler}`)
        .join(', '),
    ],
    ['signals', view.signals.recent.map((sent) => sentSignalText(sent, now)).join('\n')],
    ['step', `${view.step} (turn ${view.turn}${view.queueCount > 0 ? `, ${view.queueCount} queued` : ''})`],
    ['created', formatMoment(view.createdAt, now)],
    ['started', view.startedAt && formatMoment(view.startedAt, now)],
    ['paused', view.pausedAt && formatMoment(view.pausedAt, now)],
    ['exited', view.exitedAt && formatMoment(view.exitedAt, now)],
    ['elapsed', formatElapsed(view.elapsedMs)],
  ]
}

function holdText({ reason, root, by, at }: HoldView, now: number): string {
  return `${reason}${root ? `(${shortId(root)})` : ''} by ${by} since ${formatMoment(at, now)}`
}

function usageRows({ usage, subtreeUsage }: ProcessView): Row[] {
  const subtreeText =
    (subtreeUsage.costUsd ?? 0) > (usage.costUsd ?? 0)
      ? `, ${formatCost(subtreeUsage.costUsd, subtreeUsage.unpriced)} with its descendants`
      : ''
  return [
    ['usage', [formatCount(usage.steps, 'step'), formatCount(usage.turns, 'turn'), formatCount(usage.toolCalls, 'tool call')].join(', ')],
    ['tokens', tokensText(usage)],
    ['context', contextText(usage)],
    ['cost', `${formatCost(usage.costUsd, usage.unpriced)}${usage.estimated ? ' (in part estimated)' : ''}${subtreeText}`],
    ['CPU time', usage.cpuTimeMs === null ? null : formatDuration(usage.cpuTimeMs)],
    ['memory', memoryText(usage)],
    ['output', usage.outputBytes === null ? null : formatBytes(usage.outputBytes)],
  ]
}

/** Formats the memory: `212 MiB, 310 MiB at most`. While the process does not run, only the maximum is shown. */
function memoryText({ rssBytes, peakRssBytes }: ProcessView['usage']): string | null {
  if (peakRssBytes === null) return null
  return rssBytes === null || rssBytes === 0
    ? `${formatBytes(peakRssBytes)} at most`
    : `${formatBytes(rssBytes)}, ${formatBytes(peakRssBytes)} at most`
}

/** Formats the used context exactly: `81,204 of 200,000 tokens (41 %)`. */
function contextText({ contextTokens, contextWindow }: ProcessView['usage']): string | null {
  if (contextTokens === 0) return null
  const used = contextTokens.toLocaleString('en')
  return contextWindow === null
    ? `${used} tokens`
    : `${used} of ${contextWindow.toLocaleString('en')} tokens (${Math.round((100 * contextTokens) / contextWindow)} %)`
}

function limitAndToolRows(view: ProcessView): Row[] {
  const { limits, capabilities, pinned } = view
  return [
    ...limitRows(view),
    ['unknown price', limits.unknownPrice === 'refuse' ? 'refused' : null],
    ['instructions', view.instructions.map(({ name, cut }) => (cut ? `${name} (its end is left out)` : name)).join(', ')],
    ['skills', view.skills.map(({ name }) => name).join(', ')],
    ['tools', capabilities.tools && (capabilities.tools.join(', ') || 'none')],
    ['denied', capabilities.deny.join(', ')],
    ...permissionRows(capabilities),
    ['pinned', pinned ? 'yes' : null],
    ['removed', view.removeAtEnd ? 'when it has ended' : null],
    ['labels', oneLine(labelsText(view.labels))],
  ]
}

function restartRows({ restart, pendingRestart, childId, supervisor }: ProcessView): Row[] {
  const now = Date.now()
  return [
    ['child id', childId],
    [
      'restart',
      restart &&
        `${restart.type}${restart.onComplete ? `, ${restart.onComplete} on completion` : ''}${restart.maxRestarts === undefined || restart.windowMs === undefined ? '' : `, ${restart.maxRestarts} in ${formatElapsed(restart.windowMs)}`}`,
    ],
    [
      'comes back',
      pendingRestart &&
        `${pendingRestart.at === null ? 'when its supervisor starts it' : formatMoment(pendingRestart.at, now)}: ${pendingRestart.cause}`,
    ],
    ['strategy', supervisor && `${supervisor.strategy}, ${supervisor.maxRestarts} restarts in ${formatElapsed(supervisor.windowMs)}`],
    ['supervises', supervisor && supervisor.children.map((child) => supervisedText(child, now)).join('\n')],
  ]
}

function supervisedText({ id, uuid, restart, onComplete, restarts: times, nextStart, status, pid }: SupervisedView, now: number): string {
  const words = [
    restart,
    onComplete && `${onComplete} on completion`,
    formatCount(times, 'restart'),
    nextStart && `next start ${formatMoment(nextStart, now)}`,
  ]
  return `${id}  ${status === null ? 'ended' : `${status} (PID ${pid})`}  ${words.filter((word) => word !== null).join(', ')}  ${shortId(uuid)}`
}

/** Returns the restricted permissions other than tools, and the restrictions that are not enforced. */
function permissionRows({ calls, paths, network, signals, spawns, notes }: ProcessView['capabilities']): Row[] {
  const pathsText = (roots: readonly string[] | null): string | null => roots && (roots.length === 0 ? 'nowhere' : roots.join('\n'))
  return [
    ['calls', calls && callRulesText(calls)],
    ['reads', pathsText(paths.read)],
    ['writes', pathsText(paths.write)],
    ['network', network === 'off' ? 'off' : null],
    ['signals to', signals === 'subtree' ? null : signals === 'none' ? 'only itself' : 'its children'],
    ['starts', spawns && (spawns.join(', ') || 'no agent')],
    ['not enforced', notes.join('\n')],
  ]
}

function callRulesText({ default: fallback, allow, ask, deny, tools }: NonNullable<ProcessView['capabilities']['calls']>): string {
  const lists = Object.entries({ deny, ask, allow }).map(([policy, rules]) => rules.length > 0 && `${policy} ${rules.join(', ')}`)
  const byTool = Object.entries(tools).map(([tool, policy]) => `${policy} ${tool}`)
  return [...lists, ...byTool, `${lists.some(Boolean) || byTool.length > 0 ? 'else ' : ''}${fallback}`]
    .filter((line) => line !== false)
    .join('\n')
}

function relationRows(view: ProcessView): Row[] {
  return [
    ['parent', view.ppid === 0 ? '0 (the kernel)' : String(view.ppid)],
    ['children', view.children.map(shortId).join(', ')],
    ['forked from', view.originUuid && `${view.originUuid} at step ${view.originStep}`],
    ['resumed from', view.resumedFromStep === null ? null : `step ${view.resumedFromStep}`],
  ]
}

/** Returns the file and the nodes of a compose run. */
async function nodeRows({ reeve }: VerbCall, { driver, uuid }: ProcessView): Promise<Row[]> {
  if (driver !== 'compose') return []
  const { file, nodes } = await reeve.compose.get(uuid)
  const { nodeLine } = await import('../print/compose-table.ts')
  const width = Math.max(...nodes.map(({ name }) => name.length))
  return [
    ['file', file],
    ['nodes', nodes.map((node) => nodeLine(node, width)).join('\n')],
  ]
}

/** Returns the suspended descendants with their holds: the process may be waiting for them. */
function suspendedDescendantRows(descendants: readonly Pick<ProcessView, 'pid' | 'name' | 'status' | 'holds'>[]): Row[] {
  const suspended = descendants.filter(({ status }) => status === 'suspended').map((view) => `${processTitle(view)} ${holdsText(view)}`)
  return [['suspended below', suspended.join('\n')]]
}
