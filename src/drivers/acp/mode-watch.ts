// Keeps an agent in the modes in which its permissions are enforced. An agent that enters another mode is switched back at once, and is
// ended if that fails. Test: test/processes/acp/permission-requests.test.ts.
import type { ClientConnection } from '@agentclientprotocol/sdk'
import type { AskingMode } from './asking-mode.ts'
import { setMode } from './session.ts'
import type { Session } from './session.ts'

/** The number of switches back after which the agent is ended. */
const MAX_SWITCHES = 20

export interface ModeWatchDeps {
  readonly connection: () => ClientConnection
  readonly session: () => Session | null
  readonly asking: AskingMode
  readonly note: (text: string) => void
  /** called if the permissions cannot be enforced, so that the agent must not continue */
  readonly giveUp: (why: string) => void
}

export class ModeWatch {
  readonly #deps: ModeWatchDeps
  #current: string | null = null
  #switchCount = 0

  constructor(deps: ModeWatchDeps) {
    this.#deps = deps
  }

  /** Handles the agent's report of its current mode. */
  handleMode(mode: string): void {
    if (mode === this.#current) return
    this.#current = mode
    const {
      asking: { enforcedModes },
      note,
    } = this.#deps
    note(`mode: ${mode}`)
    if (enforcedModes === null || enforcedModes.includes(mode)) return
    this.#switchBack(mode, enforcedModes).catch((error: Error) => this.#giveUp(mode, error.message))
  }

  async #switchBack(mode: string, enforcedModes: readonly string[]): Promise<void> {
    const { connection, session, note } = this.#deps
    const openSession = session()
    const target = enforcedModes.find((enforced) => openSession?.mode.known.includes(enforced))
    if (openSession === null || target === undefined) return this.#giveUp(mode, 'it has no mode in which it asks')
    this.#switchCount += 1
    if (this.#switchCount > MAX_SWITCHES) return this.#giveUp(mode, `it was put back ${MAX_SWITCHES} times`)
    await setMode(connection(), openSession.id, { ...openSession.mode, current: mode }, target)
    this.#current = target
    note(`put back into the mode ${target}: its permissions do not hold in the mode ${mode}`)
  }

  #giveUp(mode: string, why: string): void {
    this.#deps.giveUp(`it went into the mode ${mode}, in which its permissions do not hold, and could not be put back: ${why}`)
  }
}
