// Rewrites a crew's hints for the user: the hints name tools of the coordinator, and the user has commands instead. Pure.
// Test: test/tables/daemon/crew/user-hints.test.ts.
import { KernelError } from '../../kernel/model/errors.ts'
import type { LeadCommand } from '../../kernel/model/crew/commands.ts'

/** The command that corresponds to each tool; null if there is none. */
const COMMANDS: { readonly [T in LeadCommand['type']]: string | null } = {
  add_task: 'crew add',
  add_tasks: 'crew add',
  spawn_worker: 'crew spawn',
  assign_task: 'crew assign',
  assign_review: 'crew assign',
  ask_review: null,
  approve_commit: 'crew approve',
  send_message: 'crew send',
  replace_worker: 'crew replace',
  retire_worker: 'crew retire',
  stop_worker: 'stop',
  cancel_task: 'crew cancel',
  set_priority: 'crew priority',
  retry_task: 'crew retry',
  reopen_task: 'crew reopen',
  edit_task: 'crew edit',
  mark_task_done: null,
  mark_task_failed: null,
  notify_user: null,
  complete_crew: 'crew stop',
}

/** Matches a tool's name in a hint, together with a following command in parentheses and `with requeue`. */
const TOOL_MENTION = new RegExp(`\\b(${Object.keys(COMMANDS).join('|')})\\b(?: \\(\`[^\`]+\`\\))?( with requeue)?`, 'g')

/** Returns the hint with commands in place of tools. A tool without a command stays. */
export function rewriteHint(hint: string): string {
  return hint.replaceAll(TOOL_MENTION, (mention, tool: LeadCommand['type'], requeue: string | undefined) => {
    const command = COMMANDS[tool]
    return command === null ? mention : `\`reeve ${command}${requeue ? ' --requeue' : ''}\``
  })
}

/** Returns the error with its hint rewritten for the user; any other error stays the same. */
export function withUserHint(error: unknown): unknown {
  return error instanceof KernelError ? new KernelError(error.code, error.message, error.details, rewriteHint(error.hint)) : error
}
