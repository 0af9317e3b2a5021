// Prepares the start of an agent with a known format, and follows its output until all of it is acknowledged. Ends a program that stays
// silent after its result. The files conversation.ts and driver.ts start the program, and report its end.
// Tests: test/processes/command/json-line-agents.test.ts, test/processes/command/conversation.test.ts.
import { prepareStart, type PreparedStart } from '../gateway/clients.ts'
import type { FreezableTimers } from '../common/freezable-timers.ts'
import { withReeveServer } from '../mcp/cli-mcp-config.ts'
import type { Report } from '../../kernel/model/reports.ts'
import type { Program, ProgramExit } from '../contain/containment-contract.ts'
import type { KernelPort, Launch } from '../port.ts'
import type { AgentOutput } from './agent-output.ts'
import type { KnownCommand } from './formats/formats.ts'
import type { RecordedOutputLimit } from './recorded-output-limit.ts'
import { JsonLineSplitter } from './output-splitters.ts'
import { pumpOutput } from './output-pump.ts'
import type { CommandSpec } from '../../kernel/model/process-spec.ts'

/** How long a program may be silent after its result. Agents that wait for background tasks write more often than this. */
const SILENT_MS = 30_000
/** How long a program may take to end after SIGTERM, if it writes nothing: more than the cleanup of any known agent takes. */
const KILL_MS = 6_000

export type SendReports = (reports: readonly Report[]) => Promise<void>

/** Returns a function that sends reports within the limit of recorded output. All reports of one call share a commit. */
export function reportSender(kernel: KernelPort, outputLimit: RecordedOutputLimit): SendReports {
  return async (reports) => {
    await Promise.all(reports.flatMap((report) => outputLimit.allow(report)).map((report) => kernel.report(report)))
  }
}

/** Prepares the start: adds reeve's own tools, and the gateway if the agent's models use it. */
export async function prepareAgentStart(
  launch: Launch<CommandSpec>,
  { command }: KnownCommand,
  argv: readonly string[],
): Promise<PreparedStart> {
  const { format } = launch.spec
  const plain = await prepareStart(launch, argv)
  return format === undefined ? plain : withReeveServer(launch, format, command.program.length, plain)
}

export interface FollowedProgram {
  readonly program: Program
  readonly output: AgentOutput
  readonly send: SendReports
  /** stops the time limits while the program is frozen */
  readonly timers: FreezableTimers
  /** how long the program may be silent after its result before it is ended, in ms; default 30 s */
  readonly silentMs?: number | undefined
}

/** Resolves when the program has exited and its output is acknowledged. Does not report the exit. */
export async function followProgram({ program, output, send, timers, silentMs = SILENT_MS }: FollowedProgram): Promise<ProgramExit> {
  const takeErrorOutput = (text: string): Promise<void> => {
    output.noteErrorLine(text)
    return send([{ type: 'output', stream: 'stderr', text }])
  }
  /** true from the SIGTERM or the exit on: output no longer starts or stops a time limit */
  let isEnding = false
  let stopTimer = (): void => undefined
  // Some agents hang after their result. Their outcome is known, and they write no more output.
  const endProgram = (): void => {
    isEnding = true
    // A report is rejected only if the process no longer exists.
    send([{ type: 'note', text: `did not end after its result: reeve ended it after ${silentMs / 1_000} s of silence` }]).catch(
      () => undefined,
    )
    program.signal('SIGTERM')
    stopTimer = timers.start(KILL_MS, () => program.signal('SIGKILL'))
  }
  const takeOutput = async (text: string): Promise<void> => {
    if (!isEnding) stopTimer()
    await output.takeLines(text)
    if (output.isOver && !isEnding) stopTimer = timers.start(silentMs, endProgram)
  }
  const outputs = [pumpOutput(program.stdout, takeOutput, new JsonLineSplitter()), pumpOutput(program.stderr, takeErrorOutput)]
  const exit = await program.exited
  isEnding = true
  stopTimer()
  await Promise.all(outputs)
  return exit
}
