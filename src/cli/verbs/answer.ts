// `reeve answer`: what a process asks, and an answer to it. Test: test/e2e/external.test.ts.
import type { AnswerBody, AskView, ProcessView } from '../../api/views.ts'
import { answerTo, askLines, yesOrNo } from '../asks.ts'
import { called } from '../describe.ts'
import { Failure, UsageError } from '../errors.ts'
import { oneLine, safe } from '../text.ts'
import type { Args } from '../args.ts'
import type { Reeve } from '../../index.ts'
import type { Output } from '../output.ts'
import type { Call } from '../verbs.ts'

export async function run({ args, out, reeve }: Call): Promise<number> {
  const [ref = '', words, more] = args.words
  const wishes = [words !== undefined, args.on('yes'), args.on('no')].filter((one) => one)
  if (wishes.length > 1) throw new UsageError('an answer, --yes and --no do not go together')
  const view = await reeve.get(ref)
  if (wishes.length === 0) return list(view, out, reeve)
  const ask = asked(view, args.text('ask'))
  const body = withMore(answerOf(args, words, ask), more, ask)
  const { note } = await reeve.answer(view.uuid, body)
  if (out.json) await out.value({ uuid: view.uuid, ...body })
  else await out.words(note ? oneLine(note) : `answered: ${called(view)} goes on`)
  return 0
}

async function list(view: ProcessView, out: Output, reeve: Reeve): Promise<number> {
  const { asks, uuid } = view
  if (out.json) await out.value({ uuid, asks })
  for (const [index, ask] of out.json ? [] : asks.entries()) {
    const lines = askLines(ask)
    if (view.driver === 'crew') lines.push(...await aboutTask(view, ask, reeve))
    await out.line(asks.length > 1 ? lines.map((line, row) => (row === 0 ? `[${index + 1}] ${line}` : `    ${line}`)).join('\n') : lines.join('\n'))
  }
  if (asks.length === 0) await out.words(`${called(view)} asks nothing`)
  return 0
}

/** A crew's questions are about tasks, whose texts say the rest. */
async function aboutTask({ uuid }: ProcessView, { id }: AskView, reeve: Reeve): Promise<string[]> {
  const { text, report } = await reeve.crews.task(uuid, id.replace(/\.\d+$/, ''))
  return [text, ...(report === null ? [] : ['', `reported: ${report}`])].flatMap((part) => safe(part).trimEnd().split('\n').map((line) => `  | ${line}`.trimEnd()))
}

/** A reason beside an option: what is missing, say. */
function withMore(body: AnswerBody, more: string | undefined, { options, text }: AskView): AnswerBody {
  if (more === undefined) return body
  if (options.length === 0) throw new UsageError(`"${oneLine(text)}" takes one text`, 'Put it in quotes.')
  return { ...body, text: more }
}

/** Which of its asks is meant: by its number in the list or its id; the only one needs neither. */
function asked(view: ProcessView, which: string | undefined): AskView {
  const { asks } = view
  const [first] = asks
  if (!first) throw new Failure(1, `${called(view)} asks nothing`)
  if (which === undefined && asks.length > 1) throw new UsageError(`${called(view)} asks ${asks.length} things`, `Say which with --ask; \`reeve answer ${view.pid}\` lists them.`)
  const found = which === undefined ? first : (asks[Number(which) - 1] ?? asks.find(({ id }) => id === which))
  if (!found) throw new UsageError(`${called(view)} does not ask "${which}"`, `\`reeve answer ${view.pid}\` lists what it asks.`)
  return found
}

function answerOf(args: Args, words: string | undefined, ask: AskView): AnswerBody {
  const body = words === undefined ? yesOrNo(ask, args.on('yes')) : answerTo(ask, words)
  if (body) return body
  const options = ask.options.map(({ name }, index) => `${index + 1} ${oneLine(name)}`).join(', ')
  throw new UsageError(`that is no answer to "${oneLine(ask.text)}"`, options === '' ? 'It wants a text.' : `There are ${options}.`)
}
