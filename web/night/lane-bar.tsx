// A lane of time: what a process did in each part of it. Also the ticks of the axis and the legend of the colours.
// Test: test/e2e/web/pages/night.test.ts.
import type { JSX } from 'preact'
import { visibleText } from '../../src/faces/visible-text.ts'
import type { LanePart, LaneWord } from '../../src/faces/lanes/period.ts'

type LegendWord = LaneWord | 'could have begun'

const CLASS_OF: Readonly<Record<LegendWord, string>> = {
  worked: 'worked',
  'waited for you': 'asked',
  'was held': 'held',
  'was ready': 'ready',
  'had ended': 'ended',
  'could have begun': 'could-begin',
}

/** the least width of a part, in thousandths of the lane, so that a short part can be seen */
const MIN_PART = 2

export interface LaneBarProps {
  readonly parts: readonly LanePart[]
  /** the time in which a node could have begun and had not; both ends are shares of the lane */
  readonly wait?: { readonly from: number; readonly to: number } | null
  readonly label: string
}

export function LaneBar({ parts, wait = null, label }: LaneBarProps): JSX.Element {
  return (
    <svg viewBox="0 0 1000 10" preserveAspectRatio="none" role="img" aria-label={label}>
      {wait ? (
        <rect class="could-begin" x={1000 * wait.from} y="4" width={1000 * (wait.to - wait.from)} height="2">
          <title>could have begun</title>
        </rect>
      ) : null}
      {parts.map(({ word, from, to, text }) => {
        const width = Math.max(MIN_PART, 1000 * (to - from))
        return (
          <rect key={from} class={CLASS_OF[word]} x={Math.min(1000 * from, 1000 - width)} width={width} height="10">
            <title>{visibleText(text)}</title>
          </rect>
        )
      })}
    </svg>
  )
}

/** A text that begins after this share of the axis stands before its tick. */
const LAST_TEXT = 0.9
/** the share of the axis that two texts beside each other need */
const TWO_TEXTS = 0.2

/** The ticks below the lanes. `at`: a share of the axis. */
export function LaneTicks({ ticks }: { readonly ticks: readonly { readonly at: number; readonly text: string }[] }): JSX.Element {
  // A text that stands before its tick has no room where the text of the tick before it stands.
  const shown = ticks.filter(({ at }, index) => at <= LAST_TEXT || at - (ticks[index - 1]?.at ?? 0) >= TWO_TEXTS)
  return (
    <div class="lane-ticks quiet" aria-hidden="true">
      {shown.map(({ at, text }) => (
        <span key={at} class={at > LAST_TEXT ? 'last' : ''} style={{ insetInlineStart: `${100 * at}%` }}>
          {text}
        </span>
      ))}
    </div>
  )
}

export function LaneLegend({ words }: { readonly words: readonly LegendWord[] }): JSX.Element {
  return (
    <p class="legend-of-lanes quiet">
      {words.map((word) => (
        <span key={word}>
          <i class={CLASS_OF[word]} /> {word}{' '}
        </span>
      ))}
    </p>
  )
}
