// Builds the command line that starts a crew again as it was started, and the hints for an ended crew. Pure.
// Test: test/tables/daemon/crew/up/restart-command.test.ts.
import { shellWord } from '../../../api/text/shell-quote.ts'
import { hasEndedEarly } from '../view.ts'
import type { CrewUpBody } from '../../../api/views/crew-up.ts'
import type { Process } from '../../../kernel/model/process.ts'

/** The limits of a crew that have a flag. */
const LIMITS_WITH_FLAGS: ReadonlySet<string> = new Set(['budgetUsd', 'budgetTokens', 'timeoutMs'])

/** The command line for a request. Null if flags cannot express the request: then a program sent it. */
export function crewUpCommandLine(body: CrewUpBody): string | null {
  const {
    crew,
    file,
    name,
    cwd,
    coordinator,
    workers,
    agent,
    model,
    gate,
    merge,
    permissions,
    tasks,
    maxAttempts,
    maxWorkers,
    reviews,
    worktrees,
    limits = {},
    verify,
    setup,
    copy = [],
    handOver,
  } = body
  const areLimitsExpressible = Object.keys(limits).every((key) => LIMITS_WITH_FLAGS.has(key))
  if (
    !areLimitsExpressible ||
    (tasks !== undefined && typeof tasks !== 'string') ||
    typeof coordinator === 'object' ||
    handOver !== undefined
  )
    return null
  const [verifyFlag, setupFlag] = [commandFlag(verify), commandFlag(setup)]
  if (verifyFlag === null || setupFlag === null) return null
  const flags: readonly (readonly [flag: string, value: string | number | undefined | true])[] = [
    ['--cwd', cwd],
    ['--file', file],
    ['--name', name],
    ['--tasks', tasks],
    ['--workers', workersFlag(workers)],
    ['--coordinator', coordinator],
    ['--agent', agent],
    ['--model', model],
    ['--gate', gate],
    ['--merge', merge],
    ['--permissions', permissions],
    ['--max-attempts', maxAttempts],
    ['--max-workers', maxWorkers],
    ['--no-reviews', reviews === false ? true : undefined],
    ['--no-worktrees', worktrees === false ? true : undefined],
    ['--verify', verifyFlag],
    ['--setup', setupFlag],
    ...copy.map((pattern) => ['--copy', pattern] as const),
    ['--budget-usd', limits.budgetUsd],
    ['--budget-tokens', limits.budgetTokens],
    ['--timeout', limits.timeoutMs === undefined ? undefined : `${limits.timeoutMs}ms`],
  ]
  const args = flags.flatMap(([flag, value]) => (value === undefined ? [] : value === true ? [flag] : [flag, shellWord(String(value))]))
  return ['reeve crew up', ...args, ...(crew === undefined ? [] : [shellWord(crew)])].join(' ')
}

/** The value of a flag for a command: undefined for no flag, null if a flag cannot express the command. */
function commandFlag(command: CrewUpBody['verify']): string | null | undefined {
  if (command === undefined) return undefined
  if (command === false) return 'off'
  return Array.isArray(command.command) || command.timeoutMs !== undefined ? null : command.command
}

function workersFlag(workers: CrewUpBody['workers']): string | undefined {
  return typeof workers === 'object'
    ? Object.entries(workers)
        .map(([role, count]) => `${role}=${count}`)
        .join(',')
    : workers?.toString()
}

/** The hint for a command to an ended crew: resume the crew if its work was interrupted, otherwise start it again. */
export function continueHint(
  { spec, ...ended }: Pick<Process, 'spec' | 'crew' | 'retiredAt'>,
  command: string,
  task: string | null = null,
): string {
  if (hasEndedEarly(ended)) return `\`reeve crew resume ${spec.name ?? ''}\` continues it; then repeat the command.`
  const again = spec.crew?.again
  const restart = again === undefined ? 'The same call of `crews.up`' : `\`${again}\``
  if (command !== 'reopen_task') return `${restart} takes over the done tasks and does the rest.`
  const restartAndStay = again === undefined ? 'The same call of `crews.up`, with `stay`,' : `\`${again} --stay -d\``
  return `${restartAndStay} takes over the done tasks; then \`reeve crew reopen ${spec.name ?? ''} ${task ?? 'TASK'} --comments …\` reopens the task.`
}
