// What `kill` and `stop` cost: shown by `--dry-run`, before a question, and after the action. An older daemon does not know the costs: then
// only a dry run fails. Test: test/e2e/lifecycle/stakes-cli.test.ts.
import { ApiError } from '../../api/client/api-error.ts'
import type { Reeve } from '../../index.ts'
import type { StakesView } from '../../api/views/stakes.ts'
import { stakesLines, stakesSummary } from '../print/details/stakes-text.ts'
import { UsageError } from '../errors.ts'
import type { Signal, StakesAction } from '../../kernel/model/words.ts'
import type { ActionResult } from './for-each-process.ts'
import type { Target } from './select-processes.ts'

/** for more processes than this, costs are neither requested nor shown: the text would be too long to read */
const MAX_PROCESSES = 10
/** how long git may examine the files in a dry run, in ms: the user waits for nothing else */
const DRY_RUN_FILES_MS = 3_000

const ACTIONS: Readonly<Partial<Record<Signal, StakesAction>>> = {
  SIGTERM: 'stop',
  SIGKILL: 'kill',
  SIGPAUSE: 'pause',
  SIGRESUME: 'resume',
}

interface EndRequest {
  readonly signal: Signal
  readonly subtree: boolean
}

/** Returns the result of a dry run: what a signal would cost. Errors: usage for a signal whose costs are not known. */
export async function dryRun(reeve: Reeve, ref: string, { signal, subtree }: EndRequest): Promise<ActionResult> {
  const action = ACTIONS[signal]
  if (action === undefined) throw new UsageError(`--dry-run does not know what ${signal} costs`)
  const stakes = await reeve.stakes(ref, action, { subtree, filesMs: DRY_RUN_FILES_MS })
  return {
    message: '',
    lines: stakesLines(stakes, Date.now()),
    fields: { stakes },
    ...(stakes.refused === null ? {} : { exit: 1 }),
  }
}

/** Returns the lines that state, before a question, what a signal would cost. */
export async function stakesPreview(reeve: Reeve, targets: readonly Target[], request: EndRequest): Promise<string[]> {
  if (targets.length > MAX_PROCESSES) return []
  const all = await Promise.all(targets.map(({ ref }) => requestStakes(reeve, ref, request, true)))
  return all.flatMap((stakes) => (stakes ? stakesLines(stakes, Date.now()) : []))
}

/** Runs an action that ends a process, and adds its cost to its result. `count`: how many processes end; no cost is added for many. */
export async function withStakesSummary(
  reeve: Reeve,
  { ref, count }: { readonly ref: string; readonly count: number },
  request: EndRequest,
  act: () => Promise<ActionResult>,
): Promise<ActionResult> {
  const now = Date.now()
  const stakes = count > MAX_PROCESSES ? null : await requestStakes(reeve, ref, request, false)
  const result = await act()
  if (!stakes || stakes.refused !== null || result.exit !== undefined) return result
  const summary = stakesSummary(stakes, now)
  return {
    ...result,
    message: summary === null ? result.message : `${result.message}\n${summary}`,
    fields: { ...result.fields, stakes },
  }
}

/** Returns what a signal would cost; null if that is unknown. */
async function requestStakes(reeve: Reeve, ref: string, { signal, subtree }: EndRequest, files: boolean): Promise<StakesView | null> {
  const action = ACTIONS[signal]
  if (action === undefined) return null
  try {
    return await reeve.stakes(ref, action, { subtree, files })
  } catch (error) {
    // The action itself reports an unknown process or a daemon that does not answer.
    if (error instanceof ApiError) return null
    throw error
  }
}
