// Which item of a script answers, by the messages of the context alone, so that a resumed process goes on at the right place:
// the rule that the last user message meets, and how many answers it has had. A summary takes messages out of the context:
// it carries along which message was being answered. Pure. Test: test/e2e/native-script-rules.test.ts.
import { SUMMARY_HEADING } from './context.ts'
import type { ContextMessage, ToolCall } from './context.ts'
import type { Messages } from './model.ts'
import type { Script, ScriptItem, ScriptRule, ScriptStep } from './script-file.ts'

/** What of a message a summary carries along, in characters. */
const MAX_CARRIED_CHARS = 2_000
const CARRIED = /\n\[played: (\{.*\})\]$/

/** What `{{ NAME }}` stands for. */
type Words = Readonly<Record<string, string>>

type Base = Words & { readonly lastResult: string }

/** The place in a script at which a call is answered. */
interface Place {
  /** the last message of a user; '' if there is none */
  readonly message: string
  /** answers to it so far */
  readonly position: number
}

export interface Cue {
  readonly item: ScriptItem | undefined
  readonly words: Words
  /** end of the ids of its tool calls, from which the next place is known; '' without rules */
  readonly mark: string
}

/** `step` is the process's own: a script without rules is played by it. */
export function cueOf(script: Script, step: number, context: Messages): Cue {
  const place = placeOf(context.messages)
  const base = { message: place.message, lastResult: context.lastResult }
  if (script.rules.length === 0) return chosen(script.steps[step - 1], base, '')
  for (const rule of script.rules) {
    const found = rule.when.exec(place.message)
    if (found !== null && isNth(rule, found, context.messages)) return played(rule.steps, { ...base, ...groupsOf(found) }, context, place.position)
  }
  return played(script.steps, base, context, place.position)
}

/** What a summary must carry along; '' where no rule asks for it. */
export function carried(script: Script, { messages }: Messages): string {
  if (script.rules.length === 0) return ''
  const { message, position } = placeOf(messages)
  return `\n[played: ${JSON.stringify({ message: message.slice(0, MAX_CARRIED_CHARS), position })}]`
}

function placeOf(messages: readonly ContextMessage[]): Place {
  const index = messages.findLastIndex(({ role }) => role === 'user')
  const last = messages[index]
  const message = last?.role === 'user' ? last.text : ''
  const answers = messages.slice(index + 1).flatMap((each) => (each.role === 'assistant' ? [each.parts] : []))
  const summed = message.startsWith(SUMMARY_HEADING) ? CARRIED.exec(message)?.[1] : undefined
  if (summed === undefined) return { message, position: answers.length }
  const before = JSON.parse(summed) as Place
  const call = answers.at(-1)?.find((part): part is ToolCall => part.type === 'tool-call')
  const marked = /_at(\d+)$/.exec(call?.callId ?? '')?.[1]
  return { message: before.message, position: marked === undefined ? before.position : Number(marked) + 1 }
}

/** Counts the messages that stand in the context, with the same groups. */
function isNth({ when, nth }: ScriptRule, found: RegExpExecArray, messages: readonly ContextMessage[]): boolean {
  if (nth === undefined) return true
  const key = JSON.stringify(found.slice(1))
  return messages.filter((each) => each.role === 'user' && JSON.stringify(when.exec(each.text)?.slice(1)) === key).length === nth
}

/** What earlier choices of the same turn found is known, too. */
function played(steps: readonly ScriptStep[], base: Base, { messages }: Messages, position: number): Cue {
  const earlier = resultsOf(messages)
  const known = steps.slice(0, position).reduce((words, step, index) => ({ ...chosen(step, { ...words, lastResult: earlier[index] ?? '' }, '').words, lastResult: base.lastResult }), base)
  return chosen(steps[position], known, `_at${position}`)
}

/** What each answer to the last message knew as the last result, but the first one. */
function resultsOf(messages: readonly ContextMessage[]): readonly (string | undefined)[] {
  const since = messages.slice(messages.findLastIndex(({ role }) => role === 'user') + 1)
  return [undefined, ...since.flatMap((each) => (each.role === 'tool' ? [each.results.at(-1)?.content] : []))]
}

function chosen(step: ScriptStep | undefined, words: Base, mark: string): Cue {
  if (step === undefined || !('choose' in step)) return { item: step, words, mark }
  for (const item of step.choose) {
    const found = item.if?.exec(words.lastResult)
    if (found !== null) return { item, words: found === undefined ? words : { ...words, ...found.groups }, mark }
  }
  return { item: undefined, words, mark }
}

/** Groups by their numbers, and by their names. */
function groupsOf(found: RegExpExecArray): Words {
  return { ...Object.fromEntries(found.map((text, index) => [String(index), text ?? ''])), ...found.groups }
}

/** A name that stands for nothing stays as it is. */
export function filled(text: string, words: Words): string {
  return text.replaceAll(/\{\{\s*(\w+)\s*\}\}/g, (whole, name: string) => words[name] ?? whole)
}

/** All texts of an input, however deep. */
export function filledAll(value: unknown, words: Words): unknown {
  if (typeof value === 'string') return filled(value, words)
  if (Array.isArray(value)) return value.map((each) => filledAll(each, words))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, filledAll(each, words)]))
}
