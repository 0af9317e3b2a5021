// The open questions of a process with their evidence and their answers. An answer is valid only for what is shown here: the daemon refuses
// it if the question has changed. A question that has just appeared takes no answer: a click that was meant for something else must not
// answer it. Test: test/e2e/web/actions.test.ts.
import { useState } from 'preact/hooks'
import type { JSX } from 'preact'
import { GUARD_MS, KEY_OF_OPTION } from '../../src/faces/keys.ts'
import { visibleText } from '../../src/faces/visible-text.ts'
import { taskOfQuestion } from '../../src/api/text/answer-command.ts'
import type { AskView } from '../../src/api/views/process.ts'
import { answerOption, answerText, isPending } from '../actions.ts'
import { readProcess } from '../session-api.ts'
import { draftOf, keepDraft, removeSentDraft } from '../drafts.ts'
import { useLive } from '../live.ts'
import { rowSignal } from '../rows.ts'
import { isStale, may } from '../connection-state.ts'
import { useHasElapsed } from './use-has-elapsed.ts'
import { Since } from './clock.tsx'
import { Change } from './change.tsx'

export interface QuestionsProps {
  readonly uuid: string
  /** the task of a crew: only its questions are shown */
  readonly task?: string
}

export function Questions(props: QuestionsProps): JSX.Element | null {
  const count = rowSignal(props.uuid).value?.asks ?? 0
  return count === 0 ? null : <OpenQuestions {...props} />
}

function OpenQuestions({ uuid, task }: QuestionsProps): JSX.Element | null {
  const { value, error } = useLive(uuid, 'questions', () => readProcess(uuid))
  if (error.value !== null) return <p class="problem">{error.value}</p>
  return value.value === null ? null : (
    <>
      {value.value.asks
        .filter(({ id }) => task === undefined || taskOfQuestion(id) === task)
        .map((ask) => (
          <Question key={ask.hash} uuid={uuid} ask={ask} />
        ))}
    </>
  )
}

interface AnswersProps extends QuestionProps {
  /** true: an option may have a text beside it, such as the reason of a denial */
  readonly hasText?: boolean
  /** true: only the options that apply once; the others are on the page of the question */
  readonly isShort?: boolean
}

interface QuestionProps {
  readonly uuid: string
  readonly ask: AskView
}

function Question({ uuid, ask }: QuestionProps): JSX.Element {
  return (
    <section class="question" data-ask={ask.id} aria-label="Question">
      <p class="ask-text">{visibleText(ask.text)}</p>
      <p class="quiet">
        {ask.kind === 'permission' ? 'asks for permission' : ask.kind === 'plan' ? 'asks for approval of its plan' : 'asks'},{' '}
        <Since at={ask.at} />
        {ask.step === null ? '' : `, step ${ask.step}`}
        {ask.source === 'said' ? ' · as the agent reports' : ''}
      </p>
      <Evidence ask={ask} />
      <Answers uuid={uuid} ask={ask} hasText />
    </section>
  )
}

/** What a question is about: the last text of the agent, the call, and the changes of files. */
export function Evidence({ ask }: { readonly ask: AskView }): JSX.Element {
  return (
    <>
      {ask.message === null ? null : <blockquote>{visibleText(ask.message)}</blockquote>}
      {ask.tool && ask.diff.length === 0 ? <ToolInput tool={ask.tool} /> : null}
      {ask.diff.map((change) => (
        <Change key={change.path} change={change} />
      ))}
      {ask.moreFiles > 0 ? <p class="problem">{ask.moreFiles} more files are not shown.</p> : null}
    </>
  )
}

/** The buttons of a question, or a field for a text. */
export function Answers({ uuid, ask, hasText = false, isShort = false }: AnswersProps): JSX.Element | null {
  const isReady = useHasElapsed(GUARD_MS)
  const key = `${uuid} ${ask.id}`
  const text = draftOf(key)
  const [touched, setTouched] = useState<string | null>(null)
  const isOfCrew = rowSignal(uuid).value?.kind === 'crew'
  const takesText = hasText && (isOfCrew || ask.kind !== 'question')
  const isDisabled = !isReady || isStale.value || isPending(uuid, 'answer')
  if (!may('answer')) return null
  if (ask.options.length > 0)
    return (
      <p class="buttons">
        {(isShort ? shortOptions(ask) : ask.options).map(({ id, name, kind }) => (
          <button
            key={id}
            type="button"
            class={kind.startsWith('reject') ? 'danger' : kind === 'allow_once' ? 'primary' : ''}
            data-kind={kind}
            disabled={isDisabled}
            onClick={(event) => {
              // An option that applies from now on needs a second touch.
              if (kind.endsWith('_always') && isTouch(event) && touched !== id) setTouched(id)
              else void answerOption(uuid, ask, id, takesText ? text : '').then((isSent) => isSent && removeSentDraft(key, text))
            }}
          >
            {visibleText(touched === id ? `${name}: touch again` : optionName(uuid, id, name))}{' '}
            {KEY_OF_OPTION[kind] === undefined ? null : <kbd>{KEY_OF_OPTION[kind]}</kbd>}
          </button>
        ))}
        {takesText ? (
          <input
            aria-label="Comment"
            placeholder={isOfCrew ? 'comment' : 'why, or what to do instead'}
            value={text}
            onInput={(event) => keepDraft(key, event.currentTarget.value)}
          />
        ) : null}
      </p>
    )
  return (
    <form
      class="reply"
      onSubmit={(event) => {
        event.preventDefault()
        if (text !== '' && !isDisabled) void answerText(uuid, ask, text).then((isSent) => isSent && removeSentDraft(key, text))
      }}
    >
      <input aria-label="Answer" value={text} onInput={(event) => keepDraft(key, event.currentTarget.value)} />
      <button type="submit" class="primary" disabled={isDisabled || text === ''}>
        Answer
      </button>
    </form>
  )
}

/** The name of an option. The bare `cancel` of a crew, which cancels the task, would read as if it closed the question. */
function optionName(uuid: string, id: string, name: string): string {
  return id === 'cancel' && rowSignal(uuid).peek()?.kind === 'crew' ? 'cancel the task' : name
}

/** The options that apply once; all options if there are no such ones. */
function shortOptions({ options }: AskView): AskView['options'] {
  const once = options.filter(({ kind }) => kind.endsWith('_once'))
  return once.length === 0 ? options : once
}

function isTouch(event: MouseEvent): boolean {
  return event instanceof PointerEvent && event.pointerType === 'touch'
}

/** The input of the call: a command as it is, anything else as JSON. */
function ToolInput({ tool: { input, cut } }: { readonly tool: NonNullable<AskView['tool']> }): JSX.Element {
  const fields = typeof input === 'object' && input !== null ? Object.values(input) : []
  return (
    <>
      <pre>{visibleText(fields.length === 1 && typeof fields[0] === 'string' ? fields[0] : JSON.stringify(input ?? null, null, 2))}</pre>
      {cut ? <p class="problem">A part of the input is not shown.</p> : null}
    </>
  )
}
