// Calls from the tools of crew members to the crew of the caller. They run a command, quote the lines of a review, or show the crew.
// Test: test/e2e/mcp/crew.test.ts.
import { KernelError } from '../../kernel/model/errors.ts'
import type { LeadCommand, WorkerCommand } from '../../kernel/model/crew/commands.ts'
import type { LineComment } from '../../kernel/crew/text/line-comments.ts'
import type { Process } from '../../kernel/model/process.ts'
import type { ToolCallContext, CrewToolPort } from './tool.ts'
import type { MemberSpec } from '../../kernel/model/process-spec.ts'

/** Returns the calling member. Errors: PERMISSION outside of a crew. */
function memberOf({ caller }: ToolCallContext): { readonly process: Process; readonly member: MemberSpec } {
  const member = caller?.spec.member
  if (!caller || !member)
    throw new KernelError('PERMISSION', 'you are not a member of a crew', undefined, 'This tool is for members of crews.')
  return { process: caller, member }
}

/** Sends a command of the calling member to its crew. Errors: PERMISSION outside of a crew, and those of the command. */
export async function sendCommand(context: ToolCallContext, command: LeadCommand | WorkerCommand): Promise<object> {
  const {
    process: { uuid, pid, progress },
    member,
  } = memberOf(context)
  const { note } = await context.host.crews.runMemberCommand(
    member.crew,
    { uuid, pid, turn: context.turn ?? progress.turn, call: context.id },
    command,
  )
  return { ok: true, note }
}

/** Returns the comments of a review, with the comments on lines appended; each of them quotes its line. */
export async function withQuotedLines(context: ToolCallContext, comments: string, lines: readonly LineComment[]): Promise<string> {
  const {
    process: { uuid },
    member,
  } = memberOf(context)
  return lines.length === 0 ? comments : context.host.crews.quoteLines(member.crew, uuid, comments, lines)
}

/** Returns the view of the caller's crew; for `task` also its texts and messages. */
export async function viewCrew(context: ToolCallContext, task?: string): ReturnType<CrewToolPort['view']> {
  return context.host.crews.view(memberOf(context).member.crew, task)
}
