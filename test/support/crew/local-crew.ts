// Runs a crew under a daemon in the test's own process; rules decide the models' answers. The test gives commands as the user,
// and waits for facts of the crew. Used by test/scenarios and test/e2e.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { CrewUpBody, CrewUpView } from '../../../src/api/views/crew-up.ts'
import type { CrewCommandBody, CrewMemberView, CrewSteerView, CrewTaskView, CrewView } from '../../../src/api/views/crew.ts'
import type { EventView } from '../../../src/api/views/daemon.ts'
import { testEnv } from '../env.ts'
import type { LocalDaemon } from '../daemon/local-daemon.ts'

const WAIT_MS = 100_000

/** A rule of a script; without `when` it applies to every message. */
export interface Rule {
  readonly when?: string
  readonly steps: readonly object[]
}

let files = 0

/** Writes a script, and returns the name of its model. */
export function writeModelScript(dir: string, rules: readonly Rule[], more: object = {}): string {
  const file = join(dir, `rules-${(files += 1)}.yaml`)
  writeFileSync(file, JSON.stringify({ rules: rules.map(({ when = '/[^]/', steps }) => ({ when, steps })), ...more }))
  return `script:${file}`
}

export const reeveToolCall = (name: string, input: object = {}): object => ({ tools: [{ name: `mcp__reeve__${name}`, input }] })
export const bashCall = (command: string): object => ({ tools: [{ name: 'bash', input: { command } }] })
/** A tool call that ends when the file exists. */
export const callThatWaitsFor = (file: string): object => bashCall(`until [ -e '${file}' ]; do sleep 0.05; done`)

export class LocalCrew {
  readonly daemon: LocalDaemon
  readonly uuid: string

  private constructor(daemon: LocalDaemon, uuid: string) {
    this.daemon = daemon
    this.uuid = uuid
  }

  static async up(daemon: LocalDaemon, body: Partial<CrewUpBody>): Promise<LocalCrew> {
    const fullBody: CrewUpBody = { name: 'team', cwd: daemon.work, env: testEnv(daemon.work), worktrees: false, ...body }
    const { process } = await daemon.client.post<CrewUpView>('/v1/crews', fullBody)
    return new LocalCrew(daemon, process.uuid)
  }

  async view(): Promise<CrewView> {
    return (await this.daemon.client.get<{ crew: CrewView }>(`/v1/crews/${this.uuid}`)).crew
  }

  /** Gives a command as the user. */
  steer(command: CrewCommandBody): Promise<CrewSteerView> {
    return this.daemon.client.post(`/v1/crews/${this.uuid}/commands`, command)
  }

  /** Resolves with the crew's view when the condition holds. Checks it at each event of the crew and at each new state of a member. */
  async waitUntil(isMatch: (view: CrewView) => boolean): Promise<CrewView> {
    const after = await this.daemon.readCursor()
    let view = await this.view()
    if (isMatch(view)) return view
    const late = AbortSignal.timeout(WAIT_MS)
    const received: string[] = []
    try {
      for await (const event of this.daemon.client.events('/v1/events', {
        query: { after, follow: true },
        signal: late,
        isLast: (one) => one.uuid === this.uuid && one['fact'] === 'process.reaped',
      })) {
        if (event.uuid !== this.uuid && !/^process\.(?!output)/.test(String(event['fact']))) continue
        if (/^(crew|task)\./.test(event.type)) received.push(JSON.stringify(event).slice(0, 300))
        view = await this.view()
        if (isMatch(view)) return view
      }
    } catch (error) {
      if (!late.aborted) throw error
    }
    throw new Error(
      `the crew never matched: ${isMatch.toString()}\n${JSON.stringify(view, null, 1)}\n${received.slice(-40).join('\n')}\n${this.daemon.errors.join('\n')}`,
    )
  }

  waitForTask(id: string, isMatch: (task: CrewTaskView) => boolean): Promise<CrewView> {
    return this.waitUntil(({ tasks }) => tasks.some((one) => one.id === id && isMatch(one)))
  }

  waitForMember(id: string, isMatch: (member: CrewMemberView) => boolean): Promise<CrewView> {
    return this.waitUntil(({ members }) => members.some((one) => one.id === id && isMatch(one)))
  }

  waitForEnd(): Promise<CrewView> {
    return this.waitUntil(({ exitedAt, status }) => exitedAt !== null && status !== 'zombie')
  }

  /** Waits for a fact of the crew. */
  waitForFact(type: string, isMatch: (event: EventView) => boolean = () => true): Promise<EventView> {
    return this.daemon.waitForEvent(this.uuid, (event) => event['fact'] === type && isMatch(event))
  }

  /** The crew's facts of these types. */
  async facts(...types: string[]): Promise<EventView[]> {
    return (await this.daemon.readHistory(this.uuid)).filter((event) => types.includes(String(event['fact'])))
  }

  async uuidOf(id: string): Promise<string> {
    const uuid = (await this.view()).members.find((one) => one.id === id)?.uuid
    if (!uuid) throw new Error(`${id} has no process`)
    return uuid
  }

  /** The messages that a member received, in order. */
  async messagesTo(id: string): Promise<string[]> {
    const events = await this.daemon.readHistory(await this.uuidOf(id))
    const texts = new Map(events.filter((event) => event['fact'] === 'process.queue').map((event) => [event['id'], String(event['text'])]))
    return events.filter((event) => event['fact'] === 'process.incoming').map((event) => texts.get(event['id']) ?? '')
  }
}

export function memberOf({ members }: CrewView, id: string): CrewMemberView {
  const found = members.find((one) => one.id === id)
  if (!found) throw new Error(`there is no ${id}`)
  return found
}

export function taskOf({ tasks }: CrewView, id: string): CrewTaskView {
  const found = tasks.find((one) => one.id === id)
  if (!found) throw new Error(`there is no ${id}`)
  return found
}
