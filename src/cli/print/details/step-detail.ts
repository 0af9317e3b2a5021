// Formats one step with all its details: a title, a line of figures, then what happened in the step. Untrusted text loses its control
// characters. Pure. Test: test/tables/cli/print/details/step-detail.test.ts.
import type { StepDetailView, StepToolView } from '../../../api/views/steps.ts'
import { formatCost, formatDuration, formatTokens } from '../../../faces/format.ts'
import { tokensText } from '../process-text.ts'
import { oneLine, stripControls } from '../text.ts'
import { outcomeText } from '../../../api/text/tool-outcome.ts'

/** The part of an output that the lines need. */
interface Painter {
  paint(style: 'bold' | 'dim' | 'cyan', text: string): string
}

export function stepDetailLines(step: StepDetailView, out: Painter): string[] {
  const heading = (text: string): string => out.paint('cyan', text)
  const section = (title: string, text: string | null): string[] =>
    text === null || text === '' ? [] : [heading(title), ...indentedLines(text)]
  return [
    out.paint('bold', titleOf(step)),
    ...(figuresOf(step).length === 0 ? [] : [`  ${figuresOf(step).join(' | ')}`]),
    ...step.calls.flatMap((call) =>
      call.error === null ? [] : [`  attempt failed: ${oneLine(call.error)}${call.status === null ? '' : ` (${call.status})`}`],
    ),
    ...step.messages.flatMap(({ from, text, truncated }) => section(`message from ${oneLine(from)}${truncated ? ' (cut)' : ''}`, text)),
    ...section('reasoning', step.reasoning),
    ...section('text', step.text),
    ...step.tools.flatMap((tool) => [heading(toolTitle(tool)), ...indentedLines(inputText(tool)), ...resultLines(tool, out)]),
    ...step.asks.map((ask) => `${heading('asked')} ${oneLine(ask.text)}: ${askEnd(ask)}`),
    ...step.holds.map((hold) => `${heading('held')} ${oneLine(hold.reason)} by ${oneLine(hold.by)}: ${holdEnd(hold)}`),
    ...(step.compaction
      ? [`${heading('compacted')} ${formatTokens(step.compaction.before)} to ${formatTokens(step.compaction.after)} tokens`]
      : []),
  ]
}

function titleOf({ step, model, startedAt, finishedAt }: StepDetailView): string {
  const time = finishedAt === null ? 'not finished' : formatDuration(Date.parse(finishedAt) - Date.parse(startedAt))
  return `step ${step} | ${oneLine(model)} | ${startedAt} | ${time}`
}

function figuresOf(step: StepDetailView): string[] {
  const { modelMs, firstTokenMs, toolMs, humanMs, heldMs, costUsd, contextTokens, files, checkpoint } = step
  const firstToken = firstTokenMs === null ? '' : ` (first token ${formatDuration(firstTokenMs)})`
  const times = (
    [
      ['model', modelMs],
      ['tools', toolMs],
      ['user', humanMs],
      ['held', heldMs],
    ] as const
  ).flatMap(([name, ms]) => (ms > 0 ? [`${name} ${formatDuration(ms)}${name === 'model' ? firstToken : ''}`] : []))
  return [
    ...times,
    ...(step.inputTokens + step.outputTokens + step.cacheReadTokens + step.cacheWriteTokens === 0 ? [] : [tokensText(step)]),
    ...(costUsd === null ? [] : [formatCost(costUsd)]),
    ...(contextTokens === null ? [] : [`context ${formatTokens(contextTokens)}`]),
    ...(files?.changed ? ['files changed'] : []),
    ...(checkpoint ? ['checkpoint'] : []),
  ]
}

function toolTitle({ name, outcome, exitCode, durationMs, effect, unbegun }: StepToolView): string {
  const end = outcome === null ? (unbegun ? 'not begun' : 'no outcome') : outcomeText({ outcome, exitCode })
  return `${oneLine(name)}: ${end}${durationMs === null ? '' : ` ${formatDuration(durationMs)}`}${effect === null ? '' : ` (${effect})`}`
}

function inputText({ input, truncated }: StepToolView): string {
  if (truncated.includes('input')) return '(the input is longer than 65,536 characters)'
  return typeof input === 'string' ? input : JSON.stringify(input, null, 1)
}

function resultLines({ result, truncated, images }: StepToolView, out: Painter): string[] {
  return [
    ...(result === null || result === '' ? [] : indentedLines(result).map((line) => out.paint('dim', line))),
    ...(truncated.includes('result') ? ['  (cut at 65,536 characters)'] : []),
    ...images.map(({ mediaType, bytes }) => `  (image ${oneLine(mediaType)}, ${bytes} bytes)`),
  ]
}

function askEnd({ answeredAt, at, by, answer, withdrawn }: StepDetailView['asks'][number]): string {
  if (answeredAt === null) return withdrawn ? 'withdrawn' : 'no answer yet'
  return `${oneLine(answer ?? '')} by ${oneLine(by ?? '')} after ${formatDuration(Date.parse(answeredAt) - Date.parse(at))}`
}

function holdEnd({ at, releasedAt, releasedBy }: StepDetailView['holds'][number]): string {
  if (releasedAt === null) return 'not released in this step'
  return `released by ${oneLine(releasedBy ?? '')} after ${formatDuration(Date.parse(releasedAt) - Date.parse(at))}`
}

/** Returns the lines of a text, each indented. */
function indentedLines(text: string): string[] {
  return stripControls(text)
    .trimEnd()
    .split('\n')
    .map((line) => `  ${line}`)
}
