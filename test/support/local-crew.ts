// A crew under a daemon in the test's own process, with models that are played from rules. Says commands as a person does, and
// waits for what the crew's facts come to. Tests: test/scenarios/perles-crew.test.ts, test/scenarios/orchestration.test.ts.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { CrewUpBody, CrewUpView } from '../../src/api/crew-up-views.ts'
import type { CrewCommandBody, CrewMemberView, CrewSteerView, CrewTaskView, CrewView } from '../../src/api/crew-views.ts'
import type { EventView } from '../../src/api/views.ts'
import { testEnv } from './env.ts'
import type { LocalDaemon } from './local-daemon.ts'

const WAIT_MS = 60_000

/** A rule of a script; without `when` it is for every message. */
export interface Rule {
  readonly when?: string
  readonly steps: readonly object[]
}

let files = 0

/** Writes a script and gives the name of its model. */
export function played(dir: string, rules: readonly Rule[], more: object = {}): string {
  const file = join(dir, `rules-${(files += 1)}.yaml`)
  writeFileSync(file, JSON.stringify({ rules: rules.map(({ when = '/[^]/', steps }) => ({ when, steps })), ...more }))
  return `script:${file}`
}

export const call = (name: string, input: object = {}): object => ({ tools: [{ name: `mcp__reeve__${name}`, input }] })
export const bash = (command: string): object => ({ tools: [{ name: 'bash', input: { command } }] })
/** A tool that ends when the file is there. */
export const waitsFor = (file: string): object => bash(`until [ -e '${file}' ]; do sleep 0.05; done`)

export class LocalCrew {
  readonly daemon: LocalDaemon
  readonly uuid: string

  private constructor(daemon: LocalDaemon, uuid: string) {
    this.daemon = daemon
    this.uuid = uuid
  }

  static async up(daemon: LocalDaemon, body: Partial<CrewUpBody>): Promise<LocalCrew> {
    const whole: CrewUpBody = { name: 'team', cwd: daemon.work, env: testEnv(daemon.work), worktrees: false, ...body }
    const { process } = await daemon.client.post<CrewUpView>('/v1/crews', whole)
    return new LocalCrew(daemon, process.uuid)
  }

  async view(): Promise<CrewView> {
    return (await this.daemon.client.get<{ crew: CrewView }>(`/v1/crews/${this.uuid}`)).crew
  }

  /** As a person. */
  say(command: CrewCommandBody): Promise<CrewSteerView> {
    return this.daemon.client.post(`/v1/crews/${this.uuid}/commands`, command)
  }

  /** Looks again at each event of the crew, until it is so. */
  async until(isSo: (view: CrewView) => boolean): Promise<CrewView> {
    let view = await this.view()
    if (isSo(view)) return view
    const late = AbortSignal.timeout(WAIT_MS)
    const told: string[] = []
    try {
      for await (const event of this.daemon.client.events(`/v1/processes/${this.uuid}/events`, { query: { after: 0, follow: true }, signal: late, isLast: (one) => one['fact'] === 'process.reaped' })) {
        if (/^(crew|task)\./.test(event.type)) told.push(JSON.stringify(event).slice(0, 300))
        view = await this.view()
        if (isSo(view)) return view
      }
    } catch (error) {
      if (!late.aborted) throw error
    }
    throw new Error(`the crew never was so: ${isSo.toString()}\n${JSON.stringify(view, null, 1)}\n${told.slice(-40).join('\n')}\n${this.daemon.errors.join('\n')}`)
  }

  task(id: string, isSo: (task: CrewTaskView) => boolean): Promise<CrewView> {
    return this.until(({ tasks }) => tasks.some((one) => one.id === id && isSo(one)))
  }

  member(id: string, isSo: (member: CrewMemberView) => boolean): Promise<CrewView> {
    return this.until(({ members }) => members.some((one) => one.id === id && isSo(one)))
  }

  ended(): Promise<CrewView> {
    return this.until(({ exitedAt, status }) => exitedAt !== null && status !== 'zombie')
  }

  /** Waits for a fact of the crew. */
  fact(type: string, isSo: (event: EventView) => boolean = () => true): Promise<EventView> {
    return this.daemon.event(this.uuid, (event) => event['fact'] === type && isSo(event))
  }

  /** Facts of the crew of these types. */
  async facts(...types: string[]): Promise<EventView[]> {
    return (await this.daemon.history(this.uuid)).filter((event) => types.includes(String(event['fact'])))
  }

  async uuidOf(id: string): Promise<string> {
    const uuid = (await this.view()).members.find((one) => one.id === id)?.uuid
    if (!uuid) throw new Error(`${id} has no process`)
    return uuid
  }

  /** What came to a member, in order. */
  async heard(id: string): Promise<string[]> {
    const events = await this.daemon.history(await this.uuidOf(id))
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
