// Chooses the item of a script that answers a call, and fills in its `{{ NAME }}`. In a script with rules, the last user message selects
// the rule. The number of answers to that message selects the item. The choice then depends only on the messages of the context, so that a
// resumed process continues at the right position. A compaction removes messages from the context, so a scripted summary contains the
// message that was being answered. Pure.
// Test: test/processes/native/script-rules.test.ts.
import { SUMMARY_HEADING } from '../context/context.ts'
import type { ContextMessage, ToolCall } from '../context/context.ts'
import type { ModelContext } from '../models/model.ts'
import type { Script, ScriptItem, ScriptRule, ScriptStep } from './script-file.ts'
import { lookUp } from '../../../kernel/util/lookup.ts'

/** The longest part of a message that a summary contains, in characters. */
const MAX_CARRIED_CHARS = 2_000
/** Matches the end of a summary, with the position in the script as JSON. */
const CARRIED_POSITION = /\n\[played: (\{.*\})\]$/

/** The values that replace `{{ NAME }}` in an item, by name. */
type Values = Readonly<Record<string, string>>

/** The values that every item has. */
type BaseValues = Values & { readonly lastResult: string }

/** The position in a script at which a call is answered. */
interface Position {
  /** the last user message; '' if there is none */
  readonly message: string
  /** the number of answers to this message so far */
  readonly position: number
}

/** The chosen item of a script. */
export interface ItemChoice {
  /** undefined if the script has no item at this position */
  readonly item: ScriptItem | undefined
  /** the values to fill in */
  readonly values: Values
  /** the suffix of the ids of its tool calls, which records the position; '' without rules */
  readonly callIdSuffix: string
}

/** Chooses the item for a call. `step` is the step of the process, which chooses the item of a script without rules. */
export function chooseItem(script: Script, step: number, context: ModelContext): ItemChoice {
  const current = positionOf(context.messages)
  const base = { message: current.message, lastResult: context.lastResult }
  if (script.rules.length === 0) return resolveStep(script.steps[step - 1], base, '')
  for (const rule of script.rules) {
    const match = rule.when.exec(current.message)
    if (match !== null && isNth(rule, match, context.messages))
      return itemAtPosition(rule.steps, { ...base, ...matchGroups(match) }, context, current.position)
  }
  return itemAtPosition(script.steps, base, context, current.position)
}

/** The last line of a scripted summary, which records the position; '' for a script without rules. */
export function positionSuffix(script: Script, { messages }: ModelContext): string {
  if (script.rules.length === 0) return ''
  const { message, position } = positionOf(messages)
  return `\n[played: ${JSON.stringify({ message: message.slice(0, MAX_CARRIED_CHARS), position })}]`
}

function positionOf(messages: readonly ContextMessage[]): Position {
  const index = messages.findLastIndex(({ role }) => role === 'user')
  const last = messages[index]
  const message = last?.role === 'user' ? last.text : ''
  const answers = messages.slice(index + 1).flatMap((each) => (each.role === 'assistant' ? [each.parts] : []))
  const carriedJson = message.startsWith(SUMMARY_HEADING) ? CARRIED_POSITION.exec(message)?.[1] : undefined
  if (carriedJson === undefined) return { message, position: answers.length }
  const beforeSummary = JSON.parse(carriedJson) as Position
  const call = answers.at(-1)?.find((part): part is ToolCall => part.type === 'tool-call')
  const markedPosition = /_at(\d+)$/.exec(call?.callId ?? '')?.[1]
  return { message: beforeSummary.message, position: markedPosition === undefined ? beforeSummary.position : Number(markedPosition) + 1 }
}

/** True if this is the `nth` message in the context that matches the rule with the same groups. */
function isNth({ when, nth }: ScriptRule, match: RegExpExecArray, messages: readonly ContextMessage[]): boolean {
  if (nth === undefined) return true
  const key = JSON.stringify(match.slice(1))
  return messages.filter((each) => each.role === 'user' && JSON.stringify(when.exec(each.text)?.slice(1)) === key).length === nth
}

/** The item at a position, with the named groups that earlier choices in the same turn have matched. */
function itemAtPosition(steps: readonly ScriptStep[], base: BaseValues, { messages }: ModelContext, position: number): ItemChoice {
  const earlierResults = resultsBeforeAnswers(messages)
  const knownValues = steps.slice(0, position).reduce(
    (values, step, index) => ({
      ...resolveStep(step, { ...values, lastResult: earlierResults[index] ?? '' }, '').values,
      lastResult: base.lastResult,
    }),
    base,
  )
  return resolveStep(steps[position], knownValues, `_at${position}`)
}

/** The last tool result before each answer to the last user message. There is none before the first answer. */
function resultsBeforeAnswers(messages: readonly ContextMessage[]): readonly (string | undefined)[] {
  const newMessages = messages.slice(messages.findLastIndex(({ role }) => role === 'user') + 1)
  return [undefined, ...newMessages.flatMap((each) => (each.role === 'tool' ? [each.results.at(-1)?.content] : []))]
}

function resolveStep(step: ScriptStep | undefined, values: BaseValues, callIdSuffix: string): ItemChoice {
  if (step === undefined || !('choose' in step)) return { item: step, values, callIdSuffix }
  for (const item of step.choose) {
    const match = item.if?.exec(values.lastResult)
    if (match !== null) return { item, values: match === undefined ? values : { ...values, ...match.groups }, callIdSuffix }
  }
  return { item: undefined, values, callIdSuffix }
}

/** The groups of a match, by number and by name. */
function matchGroups(match: RegExpExecArray): Values {
  return { ...Object.fromEntries(match.map((text, index) => [String(index), text ?? ''])), ...match.groups }
}

/** Replaces each `{{ NAME }}` by its value. An unknown name stays unchanged. */
export function fillIn(text: string, values: Values): string {
  return text.replaceAll(/\{\{\s*(\w+)\s*\}\}/g, (whole, name: string) => lookUp(values, name) ?? whole)
}

/** Replaces `{{ NAME }}` in all texts of an input, at any depth. */
export function fillInAll(value: unknown, values: Values): unknown {
  if (typeof value === 'string') return fillIn(value, values)
  if (Array.isArray(value)) return value.map((each) => fillInAll(each, values))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, fillInAll(each, values)]))
}
