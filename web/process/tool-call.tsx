// One tool call of a step: its input, its result, its change of a file, and its pictures. A call is open if it failed, changes a
// file, or writes output now.  Test: test/e2e/web/process/steps.test.ts.
import { useEffect, useState } from 'preact/hooks'
import type { JSX } from 'preact'
import { mainInput } from '../../src/api/text/tool-input.ts'
import type { StepPartView, StepToolView } from '../../src/api/views/steps.ts'
import { formatBytes, formatDuration } from '../../src/faces/format.ts'
import { visibleText } from '../../src/faces/visible-text.ts'
import { callApi } from '../session-api.ts'
import { Change } from '../parts/change.tsx'
import { ProgramText } from './agent-text.tsx'

/** the most parts of 1,000,000 characters that are read of one result */
const MAX_PARTS = 8
/** the part of the main input that is in the summary, in characters */
const SUMMARY_CHARS = 200
/** a longer change is shown as plain input */
const MAX_CHANGE_CHARS = 20_000
/** pictures that a browser only draws; others, such as SVG, could contain more */
const PICTURES = new Set(['image/png', 'image/jpeg', 'image/webp', 'image/gif'])

interface ToolCallProps {
  readonly uuid: string
  readonly step: number
  readonly tool: StepToolView
  /** the output of a call that still runs, as far as it was seen */
  readonly output: string | undefined
}

export function ToolCall({ uuid, step, tool, output }: ToolCallProps): JSX.Element {
  const address = `/v1/processes/${uuid}/steps/${step}/tools/${encodeURIComponent(tool.callId)}`
  const isFailed = (tool.outcome !== null && tool.outcome !== 'ok') || (tool.exitCode !== null && tool.exitCode !== 0)
  const change = changeOf(tool.input)
  const isWriting = tool.result === null && output !== undefined
  return (
    <details class={isFailed ? 'tool failed' : 'tool'} open={isFailed || change !== null || isWriting}>
      <summary>
        <span class="tool-name">{visibleText(tool.name)}</span>{' '}
        <code>
          {visibleText(
            mainInput(tool.input ?? '')
              .slice(0, SUMMARY_CHARS)
              .toWellFormed(),
          )}
        </code>{' '}
        <span class="quiet">
          {isFailed ? failureText(tool) : tool.outcome !== null ? 'done' : tool.unbegun ? 'not begun' : 'runs'}
          {tool.durationMs === null ? '' : ` · ${formatDuration(tool.durationMs)}`}
        </span>
      </summary>
      {change ? <Change change={change} /> : null}
      {change || tool.input === null ? null : <ProgramText class="input" text={JSON.stringify(tool.input, null, 2)} />}
      {tool.truncated.includes('input') ? <WholePart address={address} part="input" /> : null}
      {isWriting ? <ProgramText class="result live" text={output} /> : null}
      {tool.result === null ? null : <ProgramText class="result" text={tool.result} />}
      {tool.truncated.includes('result') ? <WholePart address={address} part="result" /> : null}
      {tool.images.map(({ mediaType, bytes }, index) => (
        <Picture key={index} address={address} index={index} mediaType={mediaType} bytes={bytes} />
      ))}
    </details>
  )
}

function failureText({ outcome, exitCode }: StepToolView): string {
  const word = outcome === 'ok' || outcome === 'error' ? 'failed' : (outcome ?? 'failed')
  return `${word}${exitCode === null ? '' : `, exit code ${exitCode}`}`
}

/** The change of a file that an input describes; null: it describes none. */
function changeOf(input: unknown): Parameters<typeof Change>[0]['change'] | null {
  if (typeof input !== 'object' || input === null) return null
  const fields = input as Readonly<Record<string, unknown>>
  const text = (...names: string[]): string | null => {
    const name = names.find((one) => typeof fields[one] === 'string')
    return name === undefined ? null : visibleText(String(fields[name]))
  }
  const path = text('file_path', 'filePath', 'path')
  const before = text('old_text', 'old_string', 'oldText', 'oldString', 'old_str')
  const after = text('new_text', 'new_string', 'newText', 'newString', 'new_str')
  if (path === null || before === null || after === null || before.length + after.length > MAX_CHANGE_CHARS) return null
  return { path, old: before, new: after, oldKnown: true, equalBefore: 0, equalAfter: 0, cut: 0 }
}

async function readPart(address: string, part: string): Promise<{ readonly text: string; readonly isWhole: boolean }> {
  let text = ''
  let offset: number | null = 0
  for (let count = 0; offset !== null && count < MAX_PARTS; count += 1) {
    const page: StepPartView = await callApi<StepPartView>(`${address}?part=${part}&offset=${offset}`)
    text += page.text
    offset = page.next
  }
  return { text, isWhole: offset === null }
}

/** Reads a part that is too large for the step, when the user asks for it. */
function WholePart({ address, part }: { readonly address: string; readonly part: 'input' | 'result' }): JSX.Element {
  const [state, setState] = useState<Awaited<ReturnType<typeof readPart>> | 'reading' | 'failed' | null>(null)
  if (state !== null && typeof state !== 'string')
    return (
      <>
        <ProgramText class={part} text={state.text} />
        {state.isWhole ? null : <p class="quiet">Only its first {state.text.length.toLocaleString('en')} characters are shown.</p>}
      </>
    )
  const read = (): void => {
    setState('reading')
    readPart(address, part)
      .then(setState)
      .catch(() => setState('failed'))
  }
  return <ReadButton state={state} text={`Read the whole ${part}`} read={read} />
}

interface ReadButtonProps {
  readonly state: 'reading' | 'failed' | null
  readonly text: string
  readonly read: () => void
}

function ReadButton({ state, text, read }: ReadButtonProps): JSX.Element {
  return (
    <p class="buttons">
      <button type="button" disabled={state === 'reading'} onClick={read}>
        {state === 'reading' ? 'Reading …' : text}
      </button>
      {state === 'failed' ? <span class="problem">It could not be read.</span> : null}
    </p>
  )
}

interface PictureProps {
  readonly address: string
  readonly index: number
  readonly mediaType: string
  readonly bytes: number
}

function Picture({ address, index, mediaType, bytes }: PictureProps): JSX.Element {
  const [source, setSource] = useState<string | null>(null)
  const [state, setState] = useState<'reading' | 'failed' | null>(null)
  useEffect(() => () => (source === null ? undefined : URL.revokeObjectURL(source)), [source])
  if (!PICTURES.has(mediaType)) return <p class="quiet">a picture ({visibleText(mediaType)}), not shown</p>
  if (source !== null) return <img class="picture" src={source} alt={`picture ${index + 1} that the tool returned`} />
  const read = (): void => {
    setState('reading')
    readPart(address, `image:${index}`)
      .then(({ text, isWhole }) => {
        if (!isWhole) return setState('failed')
        const data = Uint8Array.from(atob(text), (character) => character.charCodeAt(0))
        setSource(URL.createObjectURL(new Blob([data], { type: mediaType })))
      })
      .catch(() => setState('failed'))
  }
  return <ReadButton state={state} text={`Show the picture (${mediaType}, ${formatBytes(bytes)})`} read={read} />
}
