// `reeve steps`: each model call with its tool calls. Test: test/e2e/cli.test.ts.
import type { StepView } from '../../api/views.ts'
import { INPUT_COLUMNS, shortInput, spent } from '../describe.ts'
import { cost, plural, took } from '../format.ts'
import type { Output } from '../output.ts'
import { fit, oneLine, safe, width } from '../text.ts'
import type { Call } from '../verbs.ts'

const PAGE = 200
/** Around a tool's name, its input and its outcome. */
const SPACES = 5
const INPUT_LEAST = 10
const MAX_WHY_CHARS = 1000

export async function run({ args, out, reeve }: Call): Promise<number> {
  const { uuid } = await reeve.get(args.words[0] ?? '')
  const all: StepView[] = []
  for (let after = 0; ;) {
    const page = await reeve.steps(uuid, { after, limit: PAGE })
    if (out.json) all.push(...page)
    else for (const step of page) for (const line of lines(step, out)) await out.line(line)
    after = page.at(-1)?.step ?? after
    if (page.length < PAGE) break
  }
  if (out.json) await out.value({ steps: all })
  return 0
}

function lines(step: StepView, out: Output): string[] {
  const parts = [`step ${step.step}`, oneLine(step.model), step.finishedAt === null ? 'not finished' : spent(step)]
  if (step.costUsd !== null) parts.push(cost(step.costUsd))
  if (step.finishedAt !== null) parts.push(took(Date.parse(step.finishedAt) - Date.parse(step.startedAt)))
  if (step.attempts > 1) parts.push(plural(step.attempts, 'attempt'))
  const text = step.text ? safe(step.text).trimEnd().split('\n').map((line) => `  ${line}`) : []
  return [out.paint('bold', parts.join(' | ')), ...text, ...step.tools.flatMap((tool) => [toolLine(tool, out), ...whyLines(tool, out)]), ...step.notes.map((note) => out.paint('dim', `  ${oneLine(note)}`))]
}

/** Why a call failed, in its first words. */
function whyLines({ outcome, result }: StepView['tools'][number], out: Output): string[] {
  const words = outcome === null || outcome === 'ok' ? '' : oneLine((result ?? '').slice(0, MAX_WHY_CHARS))
  return words === '' ? [] : [out.paint('dim', `    ${fit(words, out.columns === Infinity ? INPUT_COLUMNS : Math.max(INPUT_LEAST, out.columns - SPACES), out.ellipsis)}`)]
}

function toolLine(tool: StepView['tools'][number], out: Output): string {
  const outcome = tool.outcome ?? 'running'
  const time = tool.durationMs === null ? '' : ` ${took(tool.durationMs)}`
  const name = oneLine(tool.name)
  const room = out.columns === Infinity ? INPUT_COLUMNS : Math.max(INPUT_LEAST, out.columns - width(name) - outcome.length - time.length - SPACES)
  return `  ${out.paint('cyan', name)} ${shortInput(tool.input, room, out.ellipsis)}  ${out.paint(outcome === 'ok' ? 'green' : 'red', outcome)}${time}`
}
