// Hides the processes outside a subtree in the answers to a session for this subtree. Hides their UUIDs, PIDs and limits, and their names
// in reeve's own sentences, such as why a process is held. Texts of agents and of messages stay as they are. Must never hide a process of
// the subtree.
// Tests: test/tables/daemon/web/hide-others.test.ts, test/e2e/web/security.test.ts.
import { agentUuidIn, type Uuid } from '../../kernel/model/ids.ts'
import type { Process } from '../../kernel/model/process.ts'

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/
const SENDER = /^agent:(.+)$/
const HIDDEN_SENDER = 'agent:hidden'
const HIDDEN_NAME = 'another process'
/** Fields that are absent instead of null. */
const OPTIONAL: ReadonlySet<string> = new Set(['scope', 'root', 'on'])
/** Fields with a sentence of reeve's own, which may name a process. */
const SENTENCES: ReadonlySet<string> = new Set(['note', 'title'])

type Find = (uuid: Uuid) => Promise<Process | undefined>

export class OtherProcesses {
  readonly #find: Find
  readonly #root: Uuid

  constructor(find: Find, root: Uuid) {
    this.#find = find
    this.#root = root
  }

  /** Returns the same answer without the processes outside the subtree. */
  async hideIn(answer: unknown): Promise<unknown> {
    const mentioned = new Set<Uuid>()
    collectUuids(answer, mentioned)
    const others = await this.#findAncestors()
    for (const uuid of mentioned) await this.#collectOthers(uuid, others)
    return hide(answer, {
      others,
      names: namePatternOf(others),
      pids: new Set([...others.values()].flatMap((process) => process?.pid ?? [])),
    })
  }

  /** The processes above the root: any sentence may name them. */
  async #findAncestors(): Promise<Map<Uuid, Process | null>> {
    const above = new Map<Uuid, Process | null>()
    for (let uuid = (await this.#find(this.#root))?.parentUuid ?? null; uuid !== null;) {
      const process = await this.#find(uuid)
      above.set(uuid, process ?? null)
      uuid = process?.parentUuid ?? null
    }
    return above
  }

  /** Whether a process is the root of the subtree or below it. */
  async #isWithin(process: Process | undefined): Promise<boolean> {
    for (let above = process; above; above = above.parentUuid === null ? undefined : await this.#find(above.parentUuid))
      if (above.uuid === this.#root) return true
    return false
  }

  /** Adds this process if it is outside. Else adds the outside processes that a sentence about it may name. */
  async #collectOthers(uuid: Uuid, others: Map<Uuid, Process | null>): Promise<void> {
    if (others.has(uuid)) return
    const process = await this.#find(uuid)
    if (!(await this.#isWithin(process))) {
      others.set(uuid, process ?? null)
      return
    }
    for (const cause of process ? causesOf(process) : []) {
      const other = await this.#find(cause)
      if (other && !(await this.#isWithin(other))) others.set(cause, other)
    }
  }
}

/** The processes that hold or stop a process, which a sentence about it may name: senders of its signals, and roots of its holds. */
function causesOf({ life }: Process): Uuid[] {
  const requests = life.state === 'running' ? [...life.holds, ...(life.stopping ? [life.stopping] : [])] : []
  const roots = life.state === 'running' ? life.holds.map(({ root }) => root ?? null) : []
  return [...requests.map(({ by }) => agentUuidIn(by)), ...roots].filter((uuid) => uuid !== null)
}

function collectUuids(value: unknown, found: Set<Uuid>): void {
  if (typeof value === 'string') {
    const uuid = SENDER.exec(value)?.[1] ?? value
    if (UUID.test(uuid)) found.add(uuid)
  } else if (typeof value === 'object' && value !== null && !ArrayBuffer.isView(value))
    for (const part of Object.values(value)) collectUuids(part, found)
}

interface Hidden {
  readonly others: ReadonlyMap<Uuid, Process | null>
  /** matches their names in a sentence */
  readonly names: RegExp | null
  readonly pids: ReadonlySet<number>
}

/** Matches the names of processes as sentences have them: `fix`, `PID 12`, or the end of a UUID. */
function namePatternOf(others: ReadonlyMap<Uuid, Process | null>): RegExp | null {
  const names = [...others].flatMap(([uuid, process]) => [
    uuid.slice(-8),
    ...(process ? [`PID ${process.pid}`, process.spec.name ?? ''] : []),
  ])
  const words = names.filter((name) => name !== '').map((name) => name.replaceAll(/\W/g, '\\$&'))
  return words.length === 0 ? null : new RegExp(`(?<![\\w.-])(${words.join('|')})(?![\\w-])`, 'g')
}

function hide(value: unknown, hidden: Hidden, field = ''): unknown {
  if (typeof value === 'string') return hideInText(value, hidden, field)
  if (Array.isArray(value))
    return value.filter((item) => !(field === 'limitUse' && isOfOther(item, 'scope', hidden))).map((item) => hide(item, hidden, field))
  // Bytes stay as they are.
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value))
    return field === 'ppid' && hidden.pids.has(Number(value)) ? 0 : value
  if (isOfOther(value, 'uuid', hidden)) return null
  // The text of a reason (`WhyView`) is a sentence of reeve's own. Other fields `text` have words of agents.
  const isWhy = 'kind' in value && 'since' in value
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, part]) => {
      const shown = hide(part, hidden, isWhy && name === 'text' ? 'note' : name)
      return shown === null && part !== null && OPTIONAL.has(name) ? [] : [[name, shown]]
    }),
  )
}

function isOfOther(value: unknown, field: 'uuid' | 'scope', { others }: Hidden): boolean {
  const uuid = (value as Readonly<Record<string, unknown>>)[field]
  return typeof uuid === 'string' && others.has(uuid)
}

function hideInText(text: string, { others, names }: Hidden, field: string): string | null {
  if (others.has(text)) return null
  const sender = SENDER.exec(text)?.[1]
  if (sender !== undefined && others.has(sender)) return HIDDEN_SENDER
  return SENTENCES.has(field) && names ? text.replace(names, HIDDEN_NAME) : text
}
