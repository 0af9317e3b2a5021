// Formats the questions of a process with numbered options, and parses typed answers. Pure. Test:
// test/tables/cli/input/questions.test.ts, test/e2e/external/questions.test.ts.
import type { AnswerBody, AskView } from '../../api/views/process.ts'
import { oneLine, stripControls } from '../print/text.ts'

interface Question {
  readonly text: string
  readonly options: readonly Option[]
}
type Option = AskView['options'][number]

/** Returns the lines of a question with its numbered options, without control characters. */
export function questionLines({ text, options }: Question): string[] {
  const question = stripControls(text).trimEnd().split('\n')
  return [...question, ...options.map(({ name }, index) => `  ${index + 1} ${oneLine(name)}`)]
}

/**
 * Parses a typed answer: an option by number, name, id or kind; the text itself if there are no options. Null if no option matches, or the
 * text is empty. The answer counts for this question alone.
 */
export function parseAnswer(ask: AskView, typed: string): AnswerBody | null {
  const text = typed.trim()
  if (ask.options.length === 0) return text === '' ? null : { id: ask.id, text: typed, seen: ask.hash }
  const found = ask.options[Number(text) - 1] ?? ask.options.find((option) => matchesOption(option, text.toLowerCase()))
  return found ? { id: ask.id, option: found.id, seen: ask.hash } : null
}

function matchesOption({ id, name, kind }: Option, text: string): boolean {
  return [id, name, kind].some((label) => label.toLowerCase() === text)
}

const YES: readonly Option['kind'][] = ['allow_once', 'allow_always']
const NO: readonly Option['kind'][] = ['reject_once', 'reject_always']

/** Returns the option for yes or no, if possible one that is valid only once. Null if the question has no such option. */
export function yesOrNoAnswer(ask: AskView, isYes: boolean): AnswerBody | null {
  for (const kind of isYes ? YES : NO) {
    const found = ask.options.find((option) => option.kind === kind)
    if (found) return { id: ask.id, option: found.id, seen: ask.hash }
  }
  return null
}
