// The icons of the page: lines in a box of 16 × 16, in the colour of the text. Icons are decoration: the word stands beside them or in a
// label. Test: test/e2e/web/fleet.test.ts.
import type { JSX } from 'preact'
import type { MarkName } from '../../src/faces/marks.ts'

const MARK_PATHS: Readonly<Record<MarkName, JSX.Element>> = {
  working: <circle cx="8" cy="8" r="5" fill="currentColor" stroke="none" />,
  silent: <circle cx="8" cy="8" r="2" fill="currentColor" stroke="none" />,
  starting: <path d="M8 3a5 5 0 0 1 0 10z M8 3a5 5 0 0 0 0 10" fill="currentColor" fill-opacity="0.35" />,
  stopping: <path d="M8 3a5 5 0 0 0 0 10z M8 3a5 5 0 0 1 0 10" fill="currentColor" fill-opacity="0.35" />,
  ready: <circle cx="8" cy="8" r="4.5" />,
  waiting: <path d="M8 3.5a4.5 4.5 0 1 0 0 9a4.5 4.5 0 0 0 0-9 M8 5.5V8l2 1.5" />,
  asking: <path d="M5.5 6a2.5 2.5 0 1 1 3.6 2.2C8.3 8.7 8 9.2 8 10 M8 12.7v.1" />,
  held: <path d="M6 4v8 M10 4v8" stroke-width="2.4" />,
  completed: <path d="M3.5 8.5l3 3 6-7" />,
  failed: <path d="M4.5 4.5l7 7 M11.5 4.5l-7 7" />,
  interrupted: <path d="M8 3.5v5.5 M8 12v.1" stroke-width="2.2" />,
  stopped: <rect x="4.5" y="4.5" width="7" height="7" fill="currentColor" stroke="none" />,
}

const KIND_PATHS = {
  crew: (
    <path d="M5.5 7.5a2 2 0 1 0 0-4a2 2 0 0 0 0 4 M11 8a1.7 1.7 0 1 0 0-3.4 M2 13c0-2.5 1.5-4 3.5-4S9 10.5 9 13 M11 10c1.8 0 3 1.2 3 3" />
  ),
  run: <path d="M4 3.5v3c0 1.5 1 2 2.5 2H12 M4 6.5v3c0 1.5 1 2 2.5 2H12" />,
  supervisor: <path d="M8 2.5v3 M3.5 13V9.5h9V13 M8 5.5v4" />,
  fork: <path d="M5 3v10 M5 8c0-2 6-1 6-4V3" />,
} as const

export type KindIcon = keyof typeof KIND_PATHS

function Icon({ children, name }: { readonly children: JSX.Element; readonly name: string }): JSX.Element {
  return (
    <svg
      class="icon"
      data-icon={name}
      viewBox="0 0 16 16"
      fill="none"
      stroke="currentColor"
      stroke-width="1.6"
      stroke-linecap="round"
      aria-hidden="true"
    >
      {children}
    </svg>
  )
}

export function MarkIcon({ name }: { readonly name: MarkName }): JSX.Element {
  return <Icon name={name}>{MARK_PATHS[name]}</Icon>
}

export function KindMark({ name }: { readonly name: KindIcon }): JSX.Element {
  return <Icon name={name}>{KIND_PATHS[name]}</Icon>
}
