// How a program of an agent whose JSON lines are known is started, and its output carried until all of it is acknowledged.
// Owns neither the process nor the turn that it belongs to. Tests: test/processes/command-agents.test.ts, conversation.test.ts.
import { startOf, type Started } from '../gateway/clients.ts'
import { withOwnServer } from '../mcp/hand-over.ts'
import type { Report } from '../../kernel/reports.ts'
import type { Program, ProgramExit } from '../contain/contain.ts'
import type { KernelPort, Launch } from '../port.ts'
import type { AgentOutput } from './agent-output.ts'
import type { Spoken } from './formats/formats.ts'
import type { Kept } from './kept.ts'
import { JsonLineCutter } from './lines.ts'
import { pump } from './pump.ts'

export type Say = (reports: readonly Report[]) => Promise<void>

/** Reports of one go share a commit. */
export function saying(kernel: KernelPort, kept: Kept): Say {
  return async (reports) => {
    await Promise.all(reports.flatMap((report) => kept.of(report)).map((report) => kernel.report(report)))
  }
}

/** With reeve's own tools, and through the gateway where its models are called through that. */
export async function agentStart(launch: Launch, { command }: Spoken, argv: readonly string[]): Promise<Started> {
  const { format } = launch.spec
  const plain = await startOf(launch, argv)
  return format === undefined ? plain : withOwnServer(launch, format, command.program.length, plain)
}

/** Resolves when it has ended and all that it wrote was taken; its end is not told yet. `over` is called when it has ended. */
export async function follow(program: Program, output: AgentOutput, say: Say, over: () => void = () => undefined): Promise<ProgramExit> {
  const complain = (text: string): Promise<void> => {
    output.complain(text)
    return say([{ type: 'output', stream: 'stderr', text }])
  }
  const outputs = [pump(program.stdout, (text) => output.take(text), new JsonLineCutter()), pump(program.stderr, complain)]
  const exit = await program.exited
  over()
  await Promise.all(outputs)
  return exit
}
