// What a process asks, and what a person types to answer it: numbered options, or a text where there are none. Pure.
// Owns which option a word means. Test: test/tables/cli-asks.test.ts, test/e2e/external.test.ts.
import type { AnswerBody, AskView } from '../api/views.ts'
import { oneLine, safe } from './text.ts'

interface Shown {
  readonly text: string
  readonly options: readonly Option[]
}
type Option = AskView['options'][number]

/** The question and its options, with numbers. Text of others goes through `safe`. */
export function askLines({ text, options }: Shown): string[] {
  const question = safe(text).trimEnd().split('\n')
  return [...question, ...options.map(({ name }, index) => `  ${index + 1} ${oneLine(name)}`)]
}

/** What an answer in words means: the option's number, name, id or kind; or the text itself. Null: it is none of the options. */
export function answerTo(ask: AskView, words: string): AnswerBody | null {
  const said = words.trim()
  if (ask.options.length === 0) return said === '' ? null : { id: ask.id, text: words }
  const found = ask.options[Number(said) - 1] ?? ask.options.find((option) => fits(option, said.toLowerCase()))
  return found ? { id: ask.id, option: found.id } : null
}

function fits({ id, name, kind }: Option, said: string): boolean {
  return [id, name, kind].some((one) => one.toLowerCase() === said)
}

const YES: readonly Option['kind'][] = ['allow_once', 'allow_always']
const NO: readonly Option['kind'][] = ['reject_once', 'reject_always']

/** For once, where that is offered. Null: it is no question of yes or no. */
export function yesOrNo(ask: AskView, yes: boolean): AnswerBody | null {
  for (const kind of yes ? YES : NO) {
    const found = ask.options.find((option) => option.kind === kind)
    if (found) return { id: ask.id, option: found.id }
  }
  return null
}
