// `reeve answer`: lists the questions of a process, and answers one. Test: test/e2e/external/questions.test.ts.
import { answerCommands, taskOfQuestion } from '../../api/text/answer-command.ts'
import type { LineCommentBody } from '../../api/views/crew.ts'
import type { AnswerBody, AskView, ProcessView } from '../../api/views/process.ts'
import { parseAnswer, questionLines, yesOrNoAnswer } from '../input/questions.ts'
import { processTitle } from '../print/process-text.ts'
import { Failure, UsageError } from '../errors.ts'
import { parseLineComment } from '../input/line-comments.ts'
import { taskDiffLines } from '../actions/task-diff.ts'
import { oneLine, stripControls } from '../print/text.ts'
import type { Args } from '../input/args.ts'
import type { CommandContext, VerbCall } from '../table/verb.ts'

export async function run({ args, out, reeve }: VerbCall): Promise<number> {
  const [ref = '', answerText, more] = args.words
  const answerForms = [answerText !== undefined, args.on('yes'), args.on('no')].filter((isGiven) => isGiven)
  if (answerForms.length > 1) throw new UsageError('an answer, --yes and --no exclude each other')
  if (args.on('comment') && answerText === undefined)
    throw new UsageError('--comment needs deny and a crew', 'For example: `reeve answer CREW deny --comment FILE:LINE=TEXT`.')
  if (args.on('diff') && answerForms.length > 0) throw new UsageError('--diff only shows the question, and excludes an answer')
  const view = await reeve.get(ref)
  const endedCrewText = await describeEndedCrew(view, reeve)
  if (endedCrewText !== null && answerForms.length > 0) throw new Failure(1, endedCrewText)
  const questionRef = args.text('ask')
  const seen = args.text('seen')
  if (seen !== undefined && answerForms.length === 0)
    throw new UsageError('--seen needs an answer', 'For example: `reeve answer --seen HASH P 1`.')
  const listed = questionRef === undefined || view.asks.length === 0 ? view.asks : [questionOf(view, questionRef)]
  if (answerForms.length === 0)
    return list(view, listed, { out, reeve, isWhole: args.on('diff'), emptyText: endedCrewText ?? `${processTitle(view)} asks nothing` })
  const ask = seen === undefined ? questionOf(view, questionRef) : seenQuestion(view, seen)
  const body = withText(answerOf(args, answerText, ask), more, ask)
  const lines = args.texts('comment').map(parseLineComment)
  const { note } = lines.length === 0 ? await reeve.answer(view.uuid, body) : await deny(view, body, lines, reeve)
  if (out.json) await out.value({ uuid: view.uuid, ...body })
  else await out.message(note ? oneLine(note) : `answered: ${processTitle(view)} goes on`)
  return 0
}

/** Rejects a change of a crew, with comments on its lines. */
function deny(
  view: ProcessView,
  { id, option, text }: AnswerBody,
  lines: readonly LineCommentBody[],
  reeve: VerbCall['reeve'],
): Promise<{ readonly note?: string | null }> {
  if (view.driver !== 'crew' || option !== 'deny' || id === undefined)
    throw new UsageError('--comment needs deny and a crew', 'For example: `reeve answer CREW deny --comment FILE:LINE=TEXT`.')
  return reeve.crews.command(view.uuid, {
    type: 'deny_task',
    task: taskOfQuestion(id),
    ...(text === undefined ? {} : { reason: text }),
    lines: [...lines],
  })
}

interface Listing extends CommandContext {
  /** show the complete change of the task instead of its size */
  readonly isWhole: boolean
  /** the message if there is no question */
  readonly emptyText: string
}

/** Returns the message for an ended crew that asks again when it is resumed; null for any other process. */
async function describeEndedCrew({ uuid, driver, state, name, pid }: ProcessView, reeve: VerbCall['reeve']): Promise<string | null> {
  if (driver !== 'crew' || state !== 'dead') return null
  const { resumable, tasks } = await reeve.crews.get(uuid)
  const waiting = tasks.filter((task) => task.state === 'waiting').map(({ id }) => id)
  if (!resumable || waiting.length === 0) return null
  return `${processTitle({ pid, name })} has ended, and has no questions; \`reeve crew resume ${oneLine(name ?? String(pid))}\` continues it, and it asks again about ${waiting.join(', ')}`
}

async function list(view: ProcessView, asks: readonly AskView[], listing: Listing): Promise<number> {
  const { uuid } = view
  const { out } = listing
  if (out.json) await out.value({ uuid, asks })
  for (const [index, ask] of out.json ? [] : asks.entries()) {
    const lines = questionLines(ask)
    if (view.driver === 'crew') lines.push(...(await taskLines(view, ask, listing)))
    if (asks.length > 1) lines.push('', `  ${commandsOf(view, ask)}`)
    await out.line(
      asks.length > 1
        ? lines.map((line, row) => (row === 0 ? `[${index + 1}] ${line}` : `    ${line}`.trimEnd())).join('\n')
        : lines.join('\n'),
    )
  }
  if (asks.length === 0) await out.message(listing.emptyText)
  return 0
}

/** Returns the lines about the task of a crew's question: its text and its change. */
async function taskLines({ uuid, name, pid }: ProcessView, { id }: AskView, { out, reeve, isWhole }: Listing): Promise<string[]> {
  const task = taskOfQuestion(id)
  const { text, report, kind } = await reeve.crews.task(uuid, task)
  const quoted = [text, ...(report === null ? [] : ['', `reported: ${report}`])].flatMap((part) =>
    stripControls(part)
      .trimEnd()
      .split('\n')
      .map((line) => `  | ${line}`.trimEnd()),
  )
  if (kind === 'human') return quoted
  const change = await taskDiffLines(reeve, { uuid, ref: name ?? String(pid), task }, { out, isWhole })
  return [...quoted, ...(change.length === 0 ? [] : ['', ...change])]
}

/** Adds a text to the chosen option, for example a reason. */
function withText(body: AnswerBody, more: string | undefined, { options, text }: AskView): AnswerBody {
  if (more === undefined) return body
  if (options.length === 0) throw new UsageError(`"${oneLine(text)}" takes one text`, 'Quote the text.')
  return { ...body, text: more }
}

function commandsOf(view: ProcessView, ask: AskView, between = ', '): string {
  return answerCommands({ ...view, isCrew: view.driver === 'crew' }, ask)
    .map((command) => `\`${oneLine(command)}\``)
    .join(between)
}

/** Finds a question by its number in the list, its id, or (for a crew) its task. Without a reference the only question is taken. */
function questionOf(view: ProcessView, questionRef: string | undefined): AskView {
  const { asks, driver, pid } = view
  const [first] = asks
  const isCrew = driver === 'crew'
  if (!first) throw new Failure(1, `${processTitle(view)} asks nothing`)
  if (questionRef === undefined && asks.length > 1)
    throw new UsageError(
      `${processTitle(view)} has ${asks.length} open questions`,
      `${commandsOf(view, first, ' or ')} answers the first question; \`reeve answer ${pid}\` lists them.`,
    )
  const found =
    questionRef === undefined
      ? first
      : (asks.find(({ id }) => isCrew && taskOfQuestion(id) === questionRef) ??
        asks[Number(questionRef) - 1] ??
        asks.find(({ id }) => id === questionRef))
  if (!found) throw new UsageError(`${processTitle(view)} has no question "${questionRef}"`, `\`reeve answer ${pid}\` lists its questions.`)
  return found
}

/** Finds the question that the user has seen. No other question may get the answer. */
function seenQuestion(view: ProcessView, hash: string): AskView {
  const found = view.asks.find((ask) => ask.hash === hash)
  if (found) return found
  const now = view.asks.length === 0 ? 'it asks nothing now' : 'it asks something else now'
  throw new Failure(1, `${processTitle(view)} no longer asks this: ${now}`, `\`reeve answer ${view.pid}\` lists its questions.`)
}

function answerOf(args: Args, answerText: string | undefined, ask: AskView): AnswerBody {
  const body = answerText === undefined ? yesOrNoAnswer(ask, args.on('yes')) : parseAnswer(ask, answerText)
  if (body) return body
  const options = ask.options.map(({ name }, index) => `${index + 1} ${oneLine(name)}`).join(', ')
  throw new UsageError(`not an answer to "${oneLine(ask.text)}"`, options === '' ? 'It needs a text.' : `The options are ${options}.`)
}
