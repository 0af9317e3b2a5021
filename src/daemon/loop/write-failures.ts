// Handles a store that temporarily cannot be written: inputs are deferred and submitted again later, and nothing new starts. On a full disk
// all running processes are held with the reason `disk-full`. A reserve file of 4 MB is then freed in parts. The first part of the reserve
// makes room for those holds, the rest for processes that end. When the disk has room again, the reserve is restored before anything else.
// Test: test/tables/daemon/loop/write-failures.test.ts, test/processes/daemon/full-disk.test.ts, test/simulation.
import { KernelError, type ErrorCode } from '../../kernel/model/errors.ts'
import type { InputBody } from '../../kernel/model/inputs.ts'
import { SIGNAL_TABLE } from '../../kernel/model/signals.ts'
import { isEnding } from '../../kernel/model/status.ts'
import type { Process } from '../../kernel/model/process.ts'
import type { LocalStore } from '../../store/store.ts'
import type { Clock } from './clock.ts'
import type { Uuid } from '../../kernel/model/ids.ts'

const RETRY_MS = 1_000

/** Errors that may be temporary, for example until the user frees space or mounts the disk. Any other error goes to the requester. */
const TEMPORARY_ERRORS: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'DISK_FULL',
  'DISK_FAILED',
  'READ_ONLY',
  'STORE_LOCKED',
  'STORE_UNREACHABLE',
  'STORE_UNSUITABLE',
  'UNAVAILABLE',
])

/** Replaces the output of a process that ends on a full disk: the output would take the room that the exit facts need. */
const CUT_NOTICE = '[the disk is full: what was written from here to the end is not kept]\n'

export interface WriteFailuresDeps {
  readonly local: Pick<LocalStore, 'releaseReserve' | 'restoreReserve'>
  readonly clock: Clock
  /** returns the processes that are not suspended */
  readonly runningUuids: () => readonly Uuid[]
  readonly get: (uuid: Uuid) => Process | undefined
  /** answers a request that cannot be written */
  readonly refuse: (input: InputBody, error: KernelError) => void
  readonly submit: (input: InputBody) => void
  /** submits deferred inputs again, before all later inputs */
  readonly resubmit: (inputs: readonly InputBody[]) => void
  readonly log: (message: string, error: unknown) => void
}

export class WriteFailures {
  readonly #deps: WriteFailuresDeps
  #deferred: InputBody[] = []
  /** the processes with deferred inputs; their later inputs are deferred, too, so that the order stays */
  readonly #deferredUuids = new Set<Uuid | null>()
  /** the processes for which a `disk-full` hold was submitted */
  readonly #held = new Set<Uuid>()
  /** the processes whose output was replaced by `CUT_NOTICE` */
  readonly #shortened = new Set<Uuid>()
  /** true until a part of the reserve was released for the holds */
  #isRoomForHoldsNeeded = true
  /** true if no part of the reserve is left */
  #isReserveUsedUp = false
  #isDraining = false
  #bootError: KernelError | null = null
  #currentError: KernelError | null = null
  /** the code that was logged last. Only a full disk clears it: after any other error, each retry may fail again, and would be logged. */
  #loggedCode: ErrorCode | null = null
  #cancelRetry = (): void => {}

  constructor(deps: WriteFailuresDeps) {
    this.#deps = deps
  }

  /** Why the store cannot be written at present; null if it can be written. While there is one, nothing new may start. */
  get currentError(): KernelError | null {
    return this.#currentError
  }

  /** The first error of a row whose new state could not be written at the boot; null if there is none. */
  get bootError(): KernelError | null {
    return this.#bootError
  }

  /**
   * Handles an input whose commit failed with `error`. Defers reports of drivers, and inputs of the daemon itself, but no requests of
   * users. On a full disk, a request to stop gets room from the reserve instead. A failed checkpoint is replaced by a fact about the
   * failure. Called with null before each decision, it also defers the later inputs of the same process, so that the order stays.
   * Returns true if the caller has nothing more to do; false if it must decide the input, or refuse it with `error`.
   */
  defer(input: InputBody, error: KernelError | null): boolean {
    if (error?.code === 'DISK_FULL' && isStopRequest(input)) return this.#makeRoomForStop(input, error)
    if ('reply' in input && input.type !== 'report') return false
    if (input.type === 'checkpoint') return error !== null && this.#recordCheckpointFailure(input, error)
    if (input.type === 'hold') return error?.code === 'DISK_FULL' && this.#onHoldFailed(input)
    if (error === null ? !this.#mustWait(input.uuid) : !this.#isTemporary(input, error)) {
      if (input.type === 'boot') this.#bootError ??= error
      return false
    }
    this.#deferred.push(input)
    this.#deferredUuids.add(input.uuid)
    if (error) this.#startFailure(error)
    if (input.type === 'boot' || this.#currentError?.code !== 'DISK_FULL') return true
    if (error !== null && input.uuid !== null && this.#mayUseReserve(input.uuid)) this.#makeRoomForEnd(input.uuid)
    else this.#holdAll()
    return true
  }

  /** Replaces the output of a process that ends on a full disk by one line; returns all other inputs unchanged. */
  shorten(input: InputBody): InputBody {
    if (input.type !== 'report' || input.report.type !== 'output' || this.#currentError?.code !== 'DISK_FULL') return input
    const { uuid, report } = input
    if (report.text === '' || report.text === CUT_NOTICE || !this.#isEnding(uuid)) return input
    const text = this.#shortened.has(uuid) ? '' : CUT_NOTICE
    this.#shortened.add(uuid)
    return { ...input, report: { ...report, text } }
  }

  /** Called when the daemon stops: all deferred inputs may use the reserve, because they would be lost otherwise. */
  drain(): void {
    this.#isDraining = true
    this.#flush((uuid) => uuid !== null)
  }

  /** True if an input of this process is deferred and the reserve is used up. */
  isStuck(uuid: Uuid): boolean {
    return this.#isReserveUsedUp && this.#deferredUuids.has(uuid)
  }

  /** Releases a part of the reserve for a request to stop, and submits it again. If the reserve is used up, the request is refused. */
  #makeRoomForStop(input: InputBody, error: KernelError): true {
    this.#startFailure(error)
    this.#releaseReserve((hasRoom) => {
      if (hasRoom) this.#deps.submit(input)
      else this.#deps.refuse(input, error)
    })
    return true
  }

  /** Releases a part of the reserve for a process that ends, and submits its deferred inputs. Without a reserve they wait for a retry. */
  #makeRoomForEnd(uuid: Uuid): void {
    this.#releaseReserve((hasRoom) => {
      if (hasRoom) this.#flush((other) => other === uuid)
    })
  }

  /** Releases the next part of the reserve, then calls `then`; `hasRoom` is false if the reserve was used up. */
  #releaseReserve(then: (hasRoom: boolean) => void): void {
    this.#deps.local.releaseReserve().then(
      (hasRoom) => {
        this.#isReserveUsedUp = !hasRoom
        then(hasRoom)
      },
      (error: unknown) => {
        this.#deps.log('the reserve cannot be released', error)
        then(false)
      },
    )
  }

  #mayUseReserve(uuid: Uuid): boolean {
    return this.#isDraining ? this.#deps.get(uuid) !== undefined : this.#isEnding(uuid)
  }

  #isEnding(uuid: Uuid): boolean {
    const process = this.#deps.get(uuid)
    return process !== undefined && (isEnding(process) || process.life.state === 'zombie')
  }

  /** Submits the deferred inputs of some processes again, in their order. */
  #flush(isIncluded: (uuid: Uuid | null) => boolean): void {
    const included = this.#deferred.filter(({ uuid }) => isIncluded(uuid))
    this.#deferred = this.#deferred.filter(({ uuid }) => !isIncluded(uuid))
    for (const { uuid } of included) this.#deferredUuids.delete(uuid)
    this.#deps.resubmit(included)
  }

  /**
   * Called at the start: restores the reserve, and releases the `disk-full` holds of an earlier daemon. Without room, nothing new starts.
   */
  async restoreReserve(): Promise<void> {
    if (await this.#deps.local.restoreReserve()) this.#deps.submit({ type: 'release', uuid: null, reason: 'disk-full' })
    else this.#startFailure(new KernelError('DISK_FULL', 'there is no room for the reserve'))
  }

  /** True if the input may succeed later. At a boot only a full disk counts as temporary: other errors refuse the start of the daemon. */
  #isTemporary(input: InputBody, { code }: KernelError): boolean {
    return code === 'DISK_FULL' || (TEMPORARY_ERRORS.has(code) && input.type !== 'boot')
  }

  /** Drops a checkpoint that cannot be written, and submits a fact about the failure instead. */
  #recordCheckpointFailure(input: Extract<InputBody, { type: 'checkpoint' }>, { message }: KernelError): true {
    if (input.error === null) this.#deps.submit({ ...input, error: message })
    return true
  }

  /** True if an earlier input of the same process is deferred. An input for all processes waits for all deferred inputs. */
  #mustWait(uuid: Uuid | null): boolean {
    return uuid === null ? this.#deferred.length > 0 : this.#deferredUuids.has(uuid)
  }

  /** Handles a hold that found no room: it is submitted again when the next input is deferred. Returns true for a `disk-full` hold. */
  #onHoldFailed({ uuid, reason }: Extract<InputBody, { type: 'hold' }>): boolean {
    if (uuid !== null) this.#held.delete(uuid)
    this.#isRoomForHoldsNeeded = true
    return reason === 'disk-full'
  }

  /** Stops the retries. The deferred inputs are lost; none of them was acknowledged. */
  stop(): void {
    this.#cancelRetry()
  }

  /** Records why the store cannot be written, and starts the retries. A full disk takes precedence over other errors. */
  #startFailure(error: KernelError): void {
    const before = this.#currentError
    if (before && (before.code === error.code || before.code === 'DISK_FULL')) return
    this.#currentError = error
    if (this.#loggedCode !== error.code)
      this.#deps.log(`the store cannot be written (${error.code}): running processes wait until it can`, null)
    this.#loggedCode = error.code
    if (!before) this.#retryLater()
  }

  /** Holds all running processes in one commit: the reserve is for these holds, not for the results of further work. */
  #holdAll(): void {
    const hold = (): void => {
      if (!this.#currentError) return
      for (const uuid of this.#deps.runningUuids()) this.#hold(uuid)
    }
    if (!this.#isRoomForHoldsNeeded) return hold()
    this.#isRoomForHoldsNeeded = false
    this.#releaseReserve(hold)
  }

  #hold(uuid: Uuid): void {
    if (this.#held.has(uuid)) return
    this.#held.add(uuid)
    this.#deps.submit({ type: 'hold', uuid, reason: 'disk-full' })
  }

  #retryLater(): void {
    this.#cancelRetry = this.#deps.clock.after(RETRY_MS, () => {
      this.#hasRecovered().then(
        (hasRecovered) => {
          if (hasRecovered) return this.#endFailure()
          // There may be a little room now, which is enough for processes that end.
          this.#flush((uuid) => uuid !== null && this.#mayUseReserve(uuid))
          this.#retryLater()
        },
        () => this.#retryLater(),
      )
    })
  }

  /** On a full disk, true if the reserve can be restored. After any other error always true: only the next commit shows it. */
  async #hasRecovered(): Promise<boolean> {
    return this.#currentError?.code !== 'DISK_FULL' || (await this.#deps.local.restoreReserve())
  }

  /** Submits all deferred inputs again, and releases the holds. */
  #endFailure(): void {
    const deferred = this.#deferred
    const wasFull = this.#currentError?.code === 'DISK_FULL'
    this.#deferred = []
    this.#deferredUuids.clear()
    this.#currentError = null
    this.#isRoomForHoldsNeeded = true
    this.#isReserveUsedUp = false
    this.#held.clear()
    this.#shortened.clear()
    this.#deps.resubmit(deferred)
    if (!wasFull) return
    this.#loggedCode = null
    this.#deps.log('there is room on the disk again', null)
    this.#deps.submit({ type: 'release', uuid: null, reason: 'disk-full' })
  }
}

/** True for a request to end a process, or to stop the daemon. */
function isStopRequest(input: InputBody): boolean {
  if (input.type === 'signal') return SIGNAL_TABLE[input.signal].mayEnd
  return input.type === 'hold' && input.reason === 'daemon-shutdown'
}
