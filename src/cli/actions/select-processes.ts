// Selects the processes that a verb acts on: the named ones, those whose names match a pattern, those with a label, or all. The rules of a
// selection are in docs/concepts/signals.md. Must not select members of a crew, unless the verb only reads. A word can name a member.
// Tests: test/tables/cli/actions/select-processes.test.ts, test/e2e/cli/several-processes.test.ts.
import type { ProcessView } from '../../api/views/process.ts'
import { CAPABILITIES } from '../../kernel/model/capabilities.ts'
import { Failure, UsageError } from '../errors.ts'
import { askToConfirm } from '../input/confirm.ts'
import { labelFilter } from '../input/labels.ts'
import { isNamePattern, nameMatcher } from '../input/name-pattern.ts'
import { formatCount } from '../../faces/format.ts'
import { oneLine } from '../print/text.ts'
import type { VerbCall } from '../table/verb.ts'

const FIELDS = ['uuid', 'pid', 'parentUuid', 'name', 'status', 'driver', 'role', 'labels'] as const

/** The fields of a living process that a selection reads. */
export type SelectableProcess = Pick<ProcessView, (typeof FIELDS)[number]>

/** A process that a verb acts on. */
export interface Target {
  /** the word that names it, or its UUID if it was selected */
  readonly ref: string
  /** absent if a word names exactly this process */
  readonly selected?: SelectableProcess
}

export interface SelectionRules {
  /** whether the verb can act on a selected process */
  readonly canActOn: (process: SelectableProcess) => boolean
  /** the word for these processes in messages, such as `living` */
  readonly adjective: string
  /** leaves a child to its supervisor, crew or run if that is selected, too */
  readonly leavesChildrenToOwner: boolean
  /** also selects members of crews: the verb only reads */
  readonly includesMembers?: true
}

/** Returns the processes to act on, each once. Errors: usage without a process; exit 3 if a pattern or label has none. */
export async function selectProcesses({ args, reeve }: Pick<VerbCall, 'args' | 'reeve'>, rules: SelectionRules): Promise<Target[]> {
  const all = args.on('all')
  if (args.on('label')) return selectByLabel({ args, reeve }, rules)
  if (all && args.words.length > 0) throw new UsageError('--all takes no process')
  if (!all && args.on('yes')) throw new UsageError('--yes needs --all')
  if (!all && args.words.length === 0)
    throw new UsageError('a process is missing', "Name processes, patterns such as 'web*', a label with -l, or --all.")
  const words = [...new Set(args.words)]
  const [ref] = words
  if (ref !== undefined && words.length === 1 && !isNamePattern(ref)) return [{ ref }]
  const living = await reeve.list({ fields: FIELDS })
  const found = (all ? [() => true] : words.map((word) => selectorOf(word, living))).flatMap((select) =>
    typeof select === 'string' ? [{ ref: select }] : targetsOf(living.filter(canSelect(rules)).filter(select), select, rules),
  )
  return withoutRepeated(rules.leavesChildrenToOwner ? withoutOwned(found) : found, living)
}

/** Selects the processes with all of the given labels. Errors: usage with another selection; exit 3 if there are none. */
async function selectByLabel({ args, reeve }: Pick<VerbCall, 'args' | 'reeve'>, rules: SelectionRules): Promise<Target[]> {
  if (args.on('all') || args.words.length > 0) throw new UsageError(`-l takes no ${args.on('all') ? '--all' : 'process'}`)
  const texts = args.texts('label')
  const hasLabels = labelFilter(texts)
  const living = await reeve.list({ fields: FIELDS })
  const found = living.filter((process) => hasLabels(process.labels) && canSelect(rules)(process))
  if (found.length === 0)
    throw new Failure(
      3,
      `no ${rules.adjective} process has the label ${texts.map(oneLine).join(' ')}`,
      `\`reeve ps${texts.map((text) => ` -l ${oneLine(text)}`).join('')}\` lists the processes with it.`,
    )
  const targets = found.map((selected) => ({ ref: selected.uuid, selected }))
  return rules.leavesChildrenToOwner ? withoutOwned(targets) : targets
}

/** Decides whether a process is selected. `pattern`: the pattern of names that it matches; absent: `--all`. */
type Selector = ((process: SelectableProcess) => boolean) & { readonly pattern?: string }

/** Returns what a word means: the reference of one process, or a selector. The name of a living process is never read as a pattern. */
function selectorOf(word: string, living: readonly SelectableProcess[]): string | Selector {
  if (!isNamePattern(word) || living.some(({ name }) => name === word)) return word
  const matches = nameMatcher(word)
  return Object.assign(({ name }: SelectableProcess) => name !== null && matches(name), { pattern: word })
}

function canSelect({ canActOn, includesMembers }: SelectionRules): (process: SelectableProcess) => boolean {
  return (process) => process.status !== 'zombie' && (process.role === null || includesMembers === true) && canActOn(process)
}

function targetsOf(
  matching: readonly SelectableProcess[],
  { pattern }: Selector,
  { adjective, includesMembers }: SelectionRules,
): Target[] {
  if (matching.length === 0 && pattern !== undefined)
    throw new Failure(
      3,
      `no ${adjective} process has a name like "${oneLine(pattern)}"`,
      `\`reeve ps\` lists the names.${includesMembers ? '' : ' A pattern selects no member of a crew.'}`,
    )
  return matching.map((selected) => ({ ref: selected.uuid, selected }))
}

/** Removes the selected processes whose supervisor, crew or run is selected as well. */
function withoutOwned(targets: readonly Target[]): Target[] {
  const owners = new Set(
    targets.flatMap(({ selected }) => (selected && CAPABILITIES[selected.driver].supervisesChildren ? selected.uuid : [])),
  )
  return targets.filter(({ selected }) => !selected?.parentUuid || !owners.has(selected.parentUuid))
}

/** Removes the processes that an earlier word names or selects. */
function withoutRepeated(targets: readonly Target[], living: readonly SelectableProcess[]): Target[] {
  const seen = new Set<string>()
  return targets.filter(({ ref }) => {
    const uuid = living.find((process) => process.uuid === ref || process.name === ref || String(process.pid) === ref)?.uuid ?? ref
    return !seen.has(uuid) && seen.add(uuid)
  })
}

/** Asks on a terminal before `--all` acts. `preview`: returns lines to show before the question. Returns false if the user refuses. */
export async function isAllConfirmed(
  { args, out }: VerbCall,
  action: string,
  targets: readonly Target[],
  preview?: (targets: readonly Target[]) => Promise<readonly string[]>,
): Promise<boolean> {
  const isAsked = args.on('all') && !args.on('yes') && !out.json && process.stdin.isTTY && out.isTerminal('stderr')
  if (!isAsked || targets.length === 0) return true
  for (const line of (await preview?.(targets)) ?? []) await out.message(line)
  if (await askToConfirm(`${action} ${formatCount(targets.length, 'process')}?`)) return true
  await out.message('nothing was changed')
  return false
}
