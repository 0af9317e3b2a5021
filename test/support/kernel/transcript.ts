// Plays a script of inputs on a kernel and prints the results as text for a diff.
// The results are facts (`a.3 process.held …`), effects (`-> driver.pause a#1`) and changed statuses (`== a suspended`).
import { deadlineOf } from '../../../src/kernel/decide/next-deadline.ts'
import { statusOf } from '../../../src/kernel/model/status.ts'
import type { Effect } from '../../../src/kernel/model/effects.ts'
import type { Fact, FactBody } from '../../../src/kernel/model/facts.ts'
import type { Hold } from '../../../src/kernel/model/process.ts'
import { isCrewFact } from '../../../src/kernel/state/fold-crew.ts'
import { readInput } from './transcript-inputs.ts'
import { crewText, jobText } from './transcript-crew-inputs.ts'
import { World } from './world.ts'

export class TranscriptPlayer {
  readonly world: World
  readonly #statuses = new Map<string, string>()
  #replies = 0

  constructor(maxProcesses?: number) {
    this.world = new World(maxProcesses)
  }

  /** Plays a script; returns its transcript. */
  play(script: string): string {
    const lines = script
      .split('\n')
      .map((line) => line.trim())
      .filter((line) => line !== '')
    const shownLines = lines.flatMap((line) =>
      line.startsWith('.') ? (this.#line(line.slice(1).trim()), []) : [`> ${line}`, ...this.#line(line)],
    )
    return `\n${shownLines.join('\n')}\n`
  }

  #line(line: string): string[] {
    const [verb, kind = ''] = line.split(/\s+/)
    if (verb === 'wind') return this.#advanceClock(Number(kind))
    if (verb === 'live') return this.#live(line.slice(5), kind)
    return this.#input(line)
  }

  /** Plays `live a native`, `live crew c …` or `live member w of=c id=worker-1`. */
  #live(script: string, kind: string): string[] {
    const isCrew = kind === 'crew' || kind === 'member'
    const name = isCrew ? (script.split(/\s+/)[1] ?? '') : kind
    return [isCrew ? script : `spawn ${script}`, `start ${name}`, `report ${name} up`].flatMap((input) => this.#input(input))
  }

  /** Advances the clock and ticks every process whose deadline has come, as the daemon does. */
  #advanceClock(ms: number): string[] {
    const { world } = this
    world.wind(ms)
    const due = [...world.table.rows()].filter((row) => (deadlineOf(row) ?? Infinity) <= world.mono)
    return due.flatMap((row) => [`tick ${row.uuid}`, ...this.#input(`tick ${row.uuid}`)])
  }

  #input(line: string): string[] {
    this.#replies += 1
    const { changes, effects } = this.world.step(readInput(line, this.world, this.#replies))
    this.world.commit()
    return [...changes.facts.map(factLine), ...effects.map(effectLine), ...this.#statusChanges([...changes.processes.keys()])]
  }

  #statusChanges(uuids: readonly string[]): string[] {
    return uuids.flatMap((uuid) => {
      const row = this.world.row(uuid)
      const status = row ? statusOf(row) : 'gone'
      if (this.#statuses.get(uuid) === status) return []
      this.#statuses.set(uuid, status)
      return [`  == ${uuid} ${status}`]
    })
  }
}

/** Plays a script on a new kernel. */
export function play(script: string): string {
  return new TranscriptPlayer().play(script)
}

function factLine({ uuid, seq, body }: Fact): string {
  return `${uuid}.${seq} ${body.type} ${detailOf(body, uuid)}`.trimEnd()
}

/** Formats a due time without its random jitter. */
const dueText = ({ at, dueMono }: { readonly at: number | null; readonly dueMono: number | null }): string =>
  at === null ? 'waits' : dueMono === null ? 'now' : 'later'

const holdText = ({ reason, root, by }: Hold): string => `${reason}${root === undefined ? '' : `(${root})`}/${by}`

const partsText = (ranges: readonly (readonly [number, number])[]): string => ranges.map(([first, last]) => `${first}-${last}`).join(' ')

/** Formats the fields of a fact that a transcript shows. */
function detailOf(body: FactBody, uuid: string): string {
  switch (body.type) {
    case 'process.spawned':
      return `#${body.pid}${body.parentUuid === null ? '' : ` under ${body.parentUuid}`}`
    case 'process.forked':
      return `#${body.pid} from ${body.origin.uuid} after step ${body.origin.step}`
    case 'process.started':
      return body.attached ? '' : 'unattached'
    case 'process.ready':
      return `turn ${body.turn}${body.outcome === undefined ? '' : ` ${body.outcome}`}`
    case 'process.working':
      return `turn ${body.turn}${body.message === null ? '' : ` ${body.message}`}`
    case 'process.stopping':
      return `${body.stopping.signal} by ${body.stopping.by} -> ${body.stopping.exit.code} ${body.stopping.exit.reason}${body.stopping.wrapUp ? `, wraps up until ${body.stopping.wrapUp.dueMono}` : ''}`
    case 'process.exited':
      return `${body.exit.code} ${body.exit.reason} (${body.exit.cause})`
    case 'process.reparented':
      return `to ${body.parent ?? 'PID 0'}${body.payer === undefined ? '' : `, paid by ${body.payer}`}`
    case 'process.resumed':
      return `#${body.pid} by ${body.by} from step ${body.fromStep}${body.restart ? `: restart ${body.restart.attempt} ${dueText(body.restart)}${body.rerun ? ' anew' : ''} after ${body.restart.cause}` : ''}`
    case 'restart.due':
      return dueText({ at: body.startAt, dueMono: body.dueMono })
    case 'supervisor.added':
      return `${body.id} ${body.child} ${body.restart}`
    case 'supervisor.removed':
      return `${body.id} ${body.child}`
    case 'supervisor.restarting':
      return `${body.id}, ${body.restarts.times.length} in the window${body.group ? `, with ${body.group.join(' ')}` : ''}`
    case 'supervisor.held':
      return `${body.id}: ${body.cause}`
    case 'supervisor.escalated':
      return `${body.id} ${body.times} times`
    case 'process.rehydrated':
      return `#${body.pid}`
    case 'process.held':
      return holdText(body.hold)
    case 'process.released':
      return body.holds.map(holdText).join(' ')
    case 'process.drained':
    case 'process.frozen':
      return body.inFlight ?? ''
    case 'signal.sent':
      return `${body.signal} by ${body.by}${body.root === null ? '' : ` root ${body.root}`}${body.via === undefined ? '' : ` via ${body.via}`}: ${body.disposition}`
    case 'signal.escalated':
      return `${body.from} -> ${body.to} after ${body.afterMs}`
    case 'signal.pended':
      return `${body.pending.signal} by ${body.pending.by}${body.pending.dueMono === null ? '' : ` due ${body.pending.dueMono}`}`
    case 'signal.unpended':
      return body.signal
    case 'signal.masked':
      return body.mask.join(' ')
    case 'signal.handled':
      return `${body.signal} ${body.handler}`
    case 'process.handle':
      return body.sessionId ?? ''
    case 'process.waiting':
      return body.ask?.id ?? body.question
    case 'process.answered':
      return `${body.id} ${body.option ?? body.text} by ${body.by}${body.delivery ? ` due ${body.delivery.dueMono}` : ''}`
    case 'process.unanswered':
      return `${body.id} by ${body.by}`
    case 'process.delivered':
    case 'process.unasked':
      return body.id
    case 'usage.reported':
      return `${body.usage.inputTokens} tokens`
    case 'process.queue':
      return body.id
    case 'process.incoming':
      return `${body.id} turn ${body.turn}`
    case 'process.error':
      return body.message
    case 'process.note':
      return body.text
    case 'capability.refused':
      return `${body.what}: ${body.detail}`
    case 'model.started':
      return `${body.step} try ${body.attempt}`
    case 'model.finished':
      return String(body.step)
    case 'model.failed':
      return `${body.step} ${body.error}`
    case 'tool.started':
      return `${body.callId} ${body.effect}`
    case 'tool.finished':
      return `${body.callId} ${body.outcome}`
    case 'checkpoint.written':
      return `step ${body.step}${body.ranges.length > 1 ? ` of ${partsText(body.ranges)}` : ''}`
    case 'context.window':
      return String(body.tokens)
    case 'compaction.started':
      return `after ${body.step} try ${body.attempt}`
    case 'compaction.failed':
      return `after ${body.step} ${body.error}`
    case 'context.compacted':
      return `after ${body.step}: ${body.before} -> ${body.after}`
    case 'limit.reached':
      return `${body.limit} ${body.used} of ${body.of} -> ${body.action}${body.scope === uuid ? '' : ` by ${body.scope}`}`
    case 'child.spent':
      return `${body.child} ${Object.entries(body.spent)
        .map(([name, value]) => `${name} ${value}`)
        .join(', ')}`
    case 'call.started':
      return body.call
    case 'call.finished':
      return `${body.call} ${body.usage.inputTokens} tokens${body.usage.estimated ? ', estimated' : ''}`
    case 'process.described':
      return body.what === 'labels' ? JSON.stringify(body.spec.labels) : `${body.from ?? '-'} -> ${body.spec.name ?? '-'}`
    case 'process.limited':
      return JSON.stringify(body.spec.limits)
    case 'limit.warned':
      return `${body.limit} ${body.used} of ${body.of}`
    case 'checkpoint.failed':
      return `step ${body.step} ${body.error}`
    case 'child.spawned':
      return body.child
    case 'child.exited':
      return `${body.child} ${body.code} ${body.reason}`
    case 'child.suspended':
      return `${body.child} ${body.reason}/${body.by}`
    case 'child.resumed':
      return `${body.child} by ${body.by}`
    default:
      return isCrewFact(body) ? crewText(body) : ''
  }
}

function effectLine(effect: Effect): string {
  switch (effect.type) {
    case 'reply': {
      if (effect.value.type === 'ack') return `  -> ack ${effect.value.ack}`
      const { affected, childrenGoOn, note } = effect.value
      return `  -> done, ${affected} affected${childrenGoOn > 0 ? `, ${childrenGoOn} children go on` : ''}${note === null ? '' : `: ${note}`}`
    }
    case 'refuse':
      return `  -> refused ${effect.code}: ${effect.message}`
    case 'crew.job':
      return `  -> job ${jobText(effect.job)}`
    case 'crew.move':
      return `  -> move ${effect.from.join(', ')} to ${effect.to ?? 'its senders'}`
    case 'crew.retire':
      return `  -> retire ${effect.members.join(' ')}`
    case 'driver.deliver':
      return `  -> driver.deliver ${effect.uuid}#${effect.pid} ${effect.message} turn ${effect.turn}`
    case 'driver.proceed':
      return `  -> driver.proceed ${effect.uuid}#${effect.pid} turn ${effect.turn}`
    case 'driver.pause':
      return `  -> driver.pause ${effect.uuid}#${effect.pid}${effect.freeze ? ' freeze' : ''}`
    case 'driver.stop':
      return `  -> driver.stop ${effect.uuid}#${effect.pid} ${effect.signal} ${effect.graceMs}`
    case 'release':
      return `  -> release ${effect.action} ${effect.uuid}#${effect.pid}`
    default:
      return `  -> ${effect.type} ${effect.uuid}#${effect.pid}`
  }
}
