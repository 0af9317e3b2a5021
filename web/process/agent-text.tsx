// Draws the text of an agent, the output of its tools, and lines of a log. All of it becomes text nodes: nothing is HTML or is loaded.
// Test: test/e2e/web/process/hostile-text.test.ts, test/tables/faces/rich-text.test.ts.
import { useMemo, useState } from 'preact/hooks'
import type { ComponentChild, JSX } from 'preact'
import { readRichText, targetOf, type TextBlock, type TextPart } from '../../src/faces/rich-text.ts'
import { hiddenChars, logParts } from '../../src/faces/log-list.ts'
import { colouredParts, visibleText, type ColouredPart } from '../../src/faces/visible-text.ts'

/** the part of a text that is shown at first, in characters */
const SHOWN_CHARS = 30_000

/** The Markdown that models write. */
export function AgentText({ text }: { readonly text: string }): JSX.Element {
  return <Cut text={text} draw={(part) => <RichText text={part} />} />
}

/** The output of a program: the colours of terminals, and nothing else of them. */
export function ProgramText({ text, class: name }: { readonly text: string; readonly class: string }): JSX.Element {
  return <Cut text={text} draw={(part) => <Coloured text={part} class={name} />} />
}

/** Draws the beginning of a long text, and the rest when the user asks for it. */
function Cut({ text, draw }: { readonly text: string; readonly draw: (part: string) => JSX.Element }): JSX.Element {
  const [shown, setShown] = useState(SHOWN_CHARS)
  const left = text.length - shown
  return (
    <>
      {draw(left > 0 ? text.slice(0, shown).toWellFormed() : text)}
      {left > 0 ? (
        <p class="buttons">
          <button type="button" onClick={() => setShown(shown * 10)}>
            Show more: {left.toLocaleString('en')} characters
          </button>
        </p>
      ) : null}
    </>
  )
}

function RichText({ text }: { readonly text: string }): JSX.Element {
  const blocks = useMemo(() => readRichText(visibleText(text)), [text])
  return <div class="agent-text">{blocks.map((block, index) => drawBlock(block, index))}</div>
}

function drawBlock(block: TextBlock, key: number): JSX.Element {
  if (block.kind === 'code')
    return (
      <pre key={key} tabIndex={0}>
        {block.text}
      </pre>
    )
  const parts = block.parts.map((part, index) => drawInline(part, index))
  switch (block.kind) {
    case 'heading':
      return (
        <p key={key} class="heading">
          {parts}
        </p>
      )
    case 'item':
      return (
        <p key={key} class="item" style={{ marginInlineStart: `${block.level * 1.1}rem` }}>
          <span class="bullet">{/\d/.test(block.open) ? block.open.trim() : '•'}</span> {parts}
        </p>
      )
    case 'quote':
      return <blockquote key={key}>{parts}</blockquote>
    case 'rule':
      return <hr key={key} />
    case 'line':
      return <p key={key}>{parts.length === 0 ? '\u00a0' : parts}</p>
  }
}

function drawInline(part: TextPart, key: number): ComponentChild {
  switch (part.kind) {
    case 'text':
      return part.text
    case 'code':
      return <code key={key}>{part.text}</code>
    case 'strong':
      return <strong key={key}>{part.text}</strong>
    case 'em':
      return <em key={key}>{part.text}</em>
    case 'link':
      return <Link key={key} part={part} />
  }
}

/** A link with the host that it leads to. A text that looks like another host is marked. */
function Link({ part }: { readonly part: TextPart & { readonly kind: 'link' } }): JSX.Element {
  const target = targetOf(part)
  if (!target) return <>{part.open + part.text + part.close}</>
  return (
    <>
      <a href={target.href} target="_blank" rel="noopener noreferrer nofollow">
        {part.text}
      </a>
      {target.isShown ? null : (
        <span class={target.isMisleading ? 'problem' : 'quiet'}>
          {' '}
          ({target.isMisleading ? 'leads to ' : ''}
          {target.host})
        </span>
      )}
    </>
  )
}

function Coloured({ text, class: name }: { readonly text: string; readonly class: string }): JSX.Element {
  return (
    <pre class={name} tabIndex={0}>
      <ColouredText text={text} />
    </pre>
  )
}

/** A line of the log. `find`: what the user looks for in it. */
export function LogText({ text, find }: { readonly text: string; readonly find: RegExp | null }): JSX.Element {
  const left = hiddenChars(text)
  return (
    <span class="text">
      {logParts(text, find).map((part, index) =>
        part.isMatch ? <mark key={index}>{drawColoured(part, index)}</mark> : drawColoured(part, index),
      )}
      {left > 0 ? <span class="quiet"> … {left.toLocaleString('en')} more characters</span> : null}
    </span>
  )
}

function ColouredText({ text }: { readonly text: string }): JSX.Element {
  const parts = useMemo(() => colouredParts(text), [text])
  return <>{parts.map((part, index) => drawColoured(part, index))}</>
}

function drawColoured({ text, colour, isBold, isFaint, isUnderlined }: ColouredPart, key: number): ComponentChild {
  const classes = [
    ...(colour === null ? [] : [`colour-${colour % 8}`]),
    ...(isBold ? ['bold'] : []),
    ...(isFaint ? ['quiet'] : []),
    ...(isUnderlined ? ['underlined'] : []),
  ]
  return classes.length === 0 ? (
    text
  ) : (
    <span key={key} class={classes.join(' ')}>
      {text}
    </span>
  )
}
