// What the tools of members of a crew have in common: the command goes to the crew that the caller belongs to, as that member, in
// the turn of the call. Test: test/e2e/mcp-crew.test.ts.
import { KernelError } from '../../kernel/errors.ts'
import type { LeadCommand, WorkerCommand } from '../../crew/commands.ts'
import type { MemberSpec } from '../../crew/types.ts'
import type { Process } from '../../kernel/types.ts'
import type { Called, CrewDesk } from './tool.ts'

function memberOf({ caller }: Called): { readonly process: Process; readonly member: MemberSpec } {
  const member = caller?.spec.member
  if (!caller || !member) throw new KernelError('PERMISSION', 'you are in no crew', undefined, 'This tool is for members of crews.')
  return { process: caller, member }
}

export async function commandOf(called: Called, command: LeadCommand | WorkerCommand): Promise<object> {
  const { process: { uuid, pid, progress }, member } = memberOf(called)
  const { note } = await called.host.crews.command(member.crew, { uuid, pid, turn: called.turn ?? progress.turn, call: called.id }, command)
  return { ok: true, note }
}

/** The crew as it is. */
export async function crewOf(called: Called, task?: string): ReturnType<CrewDesk['view']> {
  return called.host.crews.view(memberOf(called).member.crew, task)
}
