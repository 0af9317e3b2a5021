// `reeve steps`: prints each model call with its tool calls, or with `--step` all details of one. Test: test/e2e/cli/cli.test.ts.
import { isFailedCall, outcomeText } from '../../api/text/tool-outcome.ts'
import type { StepView } from '../../api/views/process.ts'
import { INPUT_COLUMNS, MIN_INPUT_COLUMNS, openCallWord, shortInput, tokensText } from '../print/process-text.ts'
import { formatCost, formatCount, formatDuration } from '../../faces/format.ts'
import type { Output } from '../print/output.ts'
import { wrapText } from '../print/prose.ts'
import { oneLine, stripControls, displayWidth } from '../print/text.ts'
import { failureLines } from '../print/transcript/failure-lines.ts'
import { stepDetailLines } from '../print/details/step-detail.ts'
import { resolveForRead } from '../input/which-process.ts'
import type { VerbCall } from '../table/verb.ts'

/** the number of steps per request */
const PAGE_STEPS = 200
/** the columns that spaces take in the line of a tool call */
const SPACES = 5

type Tool = StepView['tools'][number]

export async function run({ args, out, reeve }: VerbCall): Promise<number> {
  const process = await resolveForRead(args.words[0] ?? '', out, (ref) => reeve.get(ref))
  const { uuid } = process
  const number = args.number('step')
  if (number !== undefined) return showStep({ out, reeve }, uuid, number)
  const wordOf = (tool: Tool): string => openCallWord(process, tool)
  const all: StepView[] = []
  for (let after = 0; ;) {
    const page = await reeve.steps(uuid, { after, limit: PAGE_STEPS })
    if (out.json) all.push(...page)
    else for (const step of page) for (const line of stepLines(step, out, wordOf)) await out.line(line)
    after = page.at(-1)?.step ?? after
    if (page.length < PAGE_STEPS) break
  }
  if (out.json) await out.value({ steps: all })
  return 0
}

async function showStep({ out, reeve }: Pick<VerbCall, 'out' | 'reeve'>, uuid: string, number: number): Promise<number> {
  const step = await reeve.step(uuid, number)
  if (out.json) await out.value({ step })
  else for (const line of stepDetailLines(step, out)) await out.line(line)
  return 0
}

function stepLines(step: StepView, out: Output, wordOf: (tool: Tool) => string): string[] {
  const parts = [
    `step ${step.step}`,
    oneLine(step.model),
    step.finishedAt === null ? 'not finished' : isCounted(step) ? tokensText(step) : '-',
  ]
  if (step.costUsd !== null) parts.push(formatCost(step.costUsd))
  if (step.finishedAt !== null) parts.push(formatDuration(Date.parse(step.finishedAt) - Date.parse(step.startedAt)))
  if (step.attempts > 1) parts.push(formatCount(step.attempts, 'attempt'))
  const text = step.text ? [`  ${wrapText(stripControls(step.text).trimEnd(), out.proseColumns('stdout'), '  ')}`] : []
  return [
    out.paint('bold', parts.join(' | ')),
    ...text,
    ...step.tools.flatMap((tool) => [toolLine(tool, out, wordOf), ...errorLines(tool, out)]),
    ...step.notes.map((note) => out.paint('dim', `  ${oneLine(note)}`)),
  ]
}

/** Whether usage was reported for this step. Some agents report it only for a turn. */
function isCounted({ inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens, costUsd }: StepView): boolean {
  return costUsd !== null || inputTokens + outputTokens + cacheReadTokens + cacheWriteTokens > 0
}

function errorLines({ outcome, exitCode, result }: Tool, out: Output): string[] {
  if (outcome === null) return []
  const columns = out.columns === Infinity ? INPUT_COLUMNS : Math.max(MIN_INPUT_COLUMNS, out.columns - SPACES)
  return failureLines({ outcome, exitCode }, result ?? '', { columns, ellipsis: out.ellipsis }).map((line) =>
    out.paint('dim', `    ${line}`),
  )
}

/** Returns the line of a tool call. `wordOf`: returns the word for a call without an outcome. */
function toolLine(tool: Tool, out: Output, wordOf: (tool: Tool) => string): string {
  const { outcome: recordedOutcome, exitCode } = tool
  const outcome = recordedOutcome === null ? wordOf(tool) : outcomeText({ outcome: recordedOutcome, exitCode })
  const time = tool.durationMs === null ? '' : ` ${formatDuration(tool.durationMs)}`
  const name = oneLine(tool.name)
  const room =
    out.columns === Infinity
      ? INPUT_COLUMNS
      : Math.max(MIN_INPUT_COLUMNS, out.columns - displayWidth(name) - outcome.length - time.length - SPACES)
  return `  ${out.paint('cyan', name)} ${shortInput(tool.input, room, out.ellipsis)}  ${out.paint(recordedOutcome === null ? 'yellow' : isFailedCall({ outcome: recordedOutcome, exitCode }) ? 'red' : 'green', outcome)}${time}`
}
