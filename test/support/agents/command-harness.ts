// Runs the command driver with real programs in a containment. A recorder plays the kernel, and the test decides when the recorder
// acknowledges reports.
import { commandDriver } from '../../../src/drivers/command/driver.ts'
import type { Agent, KernelPort, Launch } from '../../../src/drivers/port.ts'
import type { Ack, CallGrant, Report } from '../../../src/kernel/model/reports.ts'
import { PROCESS_UUID } from './containment-harness.ts'
import type { ContainmentHarness } from './containment-harness.ts'
import { testEnv } from '../env.ts'
import { specOf } from '../store/facts.ts'
import type { CommandSpec } from '../../../src/kernel/model/process-spec.ts'
import type { SpecChanges } from '../spec-changes.ts'

export class ReportRecorder implements KernelPort {
  readonly reports: Report[] = []
  readonly signal = new AbortController().signal
  /** reports are acknowledged when this promise resolves */
  acknowledged: Promise<unknown> = Promise.resolve()
  isUnavailable = false
  refusedReport: Report['type'] | null = null
  async report(report: Report): Promise<Ack> {
    if (this.isUnavailable) throw new Error('the process is gone')
    if (report.type === this.refusedReport) throw new Error('the store is damaged')
    this.reports.push(report)
    await this.acknowledged
    return 'ok'
  }
  async requestCall(): Promise<CallGrant> {
    return { ack: 'late', reason: null }
  }
  async waitUntilUnpaused(): Promise<void> {}
  showLive(): void {}
  outputText(stream: 'stdout' | 'stderr'): string {
    return this.reports.map((report) => (report.type === 'output' && report.stream === stream ? report.text : '')).join('')
  }
  firstReport<T extends Report['type']>(type: T): Extract<Report, { type: T }> | null {
    return this.reportsOf(type)[0] ?? null
  }
  reportsOf<T extends Report['type']>(type: T): Extract<Report, { type: T }>[] {
    return this.reports.filter((report): report is Extract<Report, { type: T }> => report.type === type)
  }
}

export async function makeLaunch(
  contained: ContainmentHarness,
  argv: readonly string[],
  changes: SpecChanges = {},
  more: Partial<Launch<CommandSpec>> = {},
): Promise<Launch<CommandSpec>> {
  const kind = changes.containment ?? 'group'
  const containment = await contained.open(kind === 'auto' ? 'group' : kind)
  const spec = specOf({ agent: 'command', argv, cwd: contained.dir, env: testEnv(contained.dir), ...changes, driver: 'command' })
  return {
    uuid: PROCESS_UUID,
    pid: 1,
    spec,
    containment,
    intent: containment.intent,
    tmpDir: contained.dir,
    credentials: { MY_KEY: 'secret' },
    step: 0,
    turn: 0,
    sessionId: null,
    resumed: false,
    resumeMessage: () => Promise.resolve(null),
    openCalls: [],
    context: null,
    historyOf: () => Promise.resolve([]),
    history: async () => [],
    filteredHistory: async () => [],
    ...more,
  }
}

/** the time in ms in which a program must end its turn after a cancellation */
const CANCEL_MS = 1_000
/** the driver ends a program that stays silent this long (in ms) after its result */
const SILENT_MS = 500

export interface RunningCommand extends AsyncDisposable {
  readonly agent: Agent
  readonly kernel: ReportRecorder
}

export async function startCommand(
  contained: ContainmentHarness,
  argv: readonly string[],
  changes: SpecChanges = {},
  more: Partial<Launch<CommandSpec>> = {},
): Promise<RunningCommand> {
  const kernel = new ReportRecorder()
  const agent = await commandDriver({ cancelMs: CANCEL_MS, silentMs: SILENT_MS }).start(
    await makeLaunch(contained, argv, changes, more),
    kernel,
  )
  return { agent, kernel, [Symbol.asyncDispose]: () => agent[Symbol.asyncDispose]() }
}
