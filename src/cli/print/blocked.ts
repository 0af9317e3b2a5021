// Explains why a process does not continue (it is suspended, or has a question), and which command helps. All verbs use these texts.
// Pure. Test: test/tables/cli/print/blocked.test.ts.
import { answerCommands, crewCommandName, isChangeQuestion, taskOfQuestion, type Asker } from '../../api/text/answer-command.ts'
import type { AskView, HoldView } from '../../api/views/process.ts'
import type { Status } from '../../kernel/model/status.ts'
import { questionLines } from '../input/questions.ts'
import { processTitle } from './process-text.ts'
import { shortId } from '../../faces/format.ts'
import { raiseLimitCommand } from '../input/limit-flags.ts'
import { oneLine } from './text.ts'
import type { DriverName, HoldReason } from '../../kernel/model/words.ts'

/** A process, a crew member or a node of a run that may not continue: the fields from which a notice is made. */
export interface BlockableProcess {
  readonly uuid: string
  readonly pid: number
  readonly name: string | null
  readonly status: Status | null
  readonly holds: readonly HoldView[]
  readonly asks: readonly AskView[]
  readonly note: string | null
  readonly driver?: DriverName
}

/** Why a process does not continue, as text. */
export interface Block {
  /** the reason, to be printed after the name of the process: `is suspended by user` */
  readonly why: string
  /** the command that helps: `` `reeve resume 5` continues it `` */
  readonly next: string
}

/** The commands that a notice names. */
export interface BlockCommands {
  /** resumes the process */
  readonly resume: string
  /** answers a question, with `ANSWER` in place of the answer; null: the shell commands */
  readonly answer: string | null
}

/** Returns why the process does not continue; null if it needs nothing from the user. */
export function findBlock(process: BlockableProcess, commands: BlockCommands = shellCommands(process)): Block | null {
  if (process.status === 'suspended') return { why: suspensionText(process), next: nextStep(process, commands) }
  const [ask, ...others] = process.asks
  if (ask === undefined || process.status === null || ENDING_STATUSES.has(process.status)) return null
  const more = others.length === 0 ? '' : `\n(and ${others.length} more: \`reeve answer ${process.pid}\` lists them)`
  const asker: Asker = { ...process, isCrew: process.driver === 'crew' }
  const answers =
    commands.answer?.replace('ANSWER', ask.options.length > 0 ? 'NUMBER' : 'TEXT') ??
    answerCommands(asker, ask)
      .map((command) => `\`${oneLine(command)}\``)
      .join(' or ')
  const diffHint = isChangeQuestion(asker, ask)
    ? `, \`reeve crew diff ${crewCommandName(process)} ${taskOfQuestion(ask.id)}\` shows the change`
    : ''
  return { why: `asks: ${questionLines(ask).join('\n')}${more}`, next: `${answers} answers${diffHint}` }
}

const ENDING_STATUSES: ReadonlySet<Status> = new Set(['stopping', 'zombie', 'completed', 'retired', 'stopped', 'failed', 'interrupted'])

function shellCommands({ pid, name, driver }: BlockableProcess): BlockCommands {
  return { resume: driver === 'crew' ? `\`reeve crew resume ${oneLine(name ?? String(pid))}\`` : `\`reeve resume ${pid}\``, answer: null }
}

/** Returns the block on one line, such as `PID 5 (docs) is suspended: loop (12 times the same: bash); …`. Null if there is none. */
export function blockText(process: BlockableProcess): string | null {
  const block = findBlock(process)
  return block && oneLine(`${processTitle(process)} ${block.why}; ${block.next}`)
}

/** Whether the process is suspended only because of a suspended ancestor. */
export function isSuspendedByAncestor({ uuid, holds, status }: BlockableProcess, others: readonly BlockableProcess[]): boolean {
  const ancestorOf = (hold: HoldView): string | undefined => (hold.reason === 'subtree' ? hold.root : hold.scope)
  return (
    status === 'suspended' &&
    holds.length > 0 &&
    holds.every((hold) => others.some((other) => other.uuid !== uuid && other.uuid === ancestorOf(hold) && other.status === 'suspended'))
  )
}

/**
 * Whether the process is suspended only because of credentials for which its crew is suspended, too: the resume of the crew continues both.
 */
export function sharesAccountHold({ uuid, holds, status }: BlockableProcess, others: readonly BlockableProcess[]): boolean {
  const isAccountHold = ({ reason }: HoldView): boolean => reason === 'credentials'
  return (
    status === 'suspended' &&
    holds.length > 0 &&
    holds.every(isAccountHold) &&
    others.some(
      (other) => other.driver === 'crew' && other.uuid !== uuid && other.status === 'suspended' && other.holds.some(isAccountHold),
    )
  )
}

/** Returns why the process is suspended, as in the NOTE column. Omits `(draining)`, which ends by itself and needs no action. */
function suspensionText({ note, holds }: BlockableProcess): string {
  const reasons = note?.startsWith('paused: ')
    ? note.slice('paused: '.length).replace(/ \(draining\)$/, '')
    : holds.map(({ reason, by }) => (reason === 'user' ? `by ${by}` : reason)).join(', ')
  return oneLine(`is suspended${reasons.startsWith('by ') ? ' ' : ': '}${reasons}`)
}

/** Returns the sentence about how the process continues. `resume`: the command that resumes it. */
type NextStepText = (process: BlockableProcess, hold: HoldView, resume: string) => string
const resumeContinues: NextStepText = (_, __, resume) => `${resume} continues it`

/**
 * The sentence for each reason of a hold. A process with several holds gets the first sentence: reasons that a plain resume cannot release
 * come first.
 */
const NEXT_STEPS: { readonly [R in HoldReason]: NextStepText } = {
  budget: ({ uuid, pid }, { limit, scope }) =>
    limit === 'dailyUsd' || limit === 'monthlyUsd'
      ? `it continues by itself then; \`reeve config set budgets.${limit} USD\` with more continues it now`
      : limit === undefined || scope === undefined
        ? `it continues when there is room again; \`reeve inspect ${pid}\` shows its limits`
        : `${raiseLimitCommand(limit, scope === uuid ? String(pid) : shortId(scope))} continues it`,
  // A key can be valid while its account has no credit.
  credentials: ({ note }, _, resume) =>
    note?.includes(' was refused: ')
      ? `${resume} continues it when the account is in order, or in a shell with another key`
      : `${resume} in a shell with the key continues it`,
  'disk-full': () => 'it continues by itself when there is space',
  'context-full': ({ pid }, _, resume) => `${resume} tries again; after \`reeve stop ${pid}\` it can resume with a larger --model`,
  loop: ({ pid }, _, resume) => `${resume} continues it, with a new count; \`reeve steps ${pid}\` shows what it did`,
  breaker: ({ pid }, _, resume) => `${resume} continues it, with a new count; \`reeve logs --tail 40 ${pid}\` shows what failed`,
  'rate-limit': (_, { wake }, resume) =>
    wake
      ? `it continues by itself then; ${resume} tries now`
      : `${resume} continues it then, or tries now; \`run --wake\` does so automatically`,
  supervisor: resumeContinues,
  'daemon-crash': resumeContinues,
  'daemon-shutdown': () => 'it continues when the daemon has started again',
  subtree: ({ uuid, pid, driver }, { root }, resume) =>
    `${root === uuid && driver !== 'crew' ? `\`reeve resume --subtree ${pid}\`` : resume} continues it`,
  user: resumeContinues,
}

function nextStep(process: BlockableProcess, { resume }: BlockCommands): string {
  const [hold] = Object.keys(NEXT_STEPS).flatMap((reason) => process.holds.find((each) => each.reason === reason) ?? [])
  return hold ? NEXT_STEPS[hold.reason](process, hold, resume) : `${resume} continues it`
}
