// Draws docs/reference/crews.svg: the states of a task, and the phases of a worker, from the tables in src/kernel/crew/state.
// `node scripts/crew-picture.ts` runs it. This file has the positions of boxes and the bends of arrows. The tables decide which arrows
// exist; an arrow between boxes without a position is an error. Test: test/tables/docs/crew-picture.test.ts compares the picture with the
// tables.
import { writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { PHASE_TABLE } from '../src/kernel/crew/state/phases.ts'
import { TASK_STATE_TABLE } from '../src/kernel/crew/state/task-states.ts'

type Point = readonly [x: number, y: number]

interface Diagram {
  readonly title: string
  readonly note: string
  readonly top: number
  readonly boxes: Readonly<Record<string, Point>>
  /** the control point of an arrow, by `from>to`; an arrow without one is straight */
  readonly bends: Readonly<Record<string, Point>>
  readonly labels: Readonly<Record<string, Point>>
  /** labels by event or by `state event`, in place of the general ones */
  readonly words: Readonly<Record<string, string>>
}

interface Arrow {
  readonly from: string
  readonly to: string
  readonly label: string
}

const WIDTH = 980
const HEIGHT = 622
const BOX = { width: 104, height: 34 }

/** Events of nearly every state: the note describes them. */
const EVERYWHERE: ReadonlySet<string> = new Set(['requeue', 'fail', 'cancel', 'retry', 'reopen'])
const WORDS: Readonly<Record<string, string>> = {
  assign: 'assigned',
  report: 'reported',
  unreview: 'no verdict',
  red: 'red',
  deny: 'DENIED',
  approve: 'APPROVED',
  ask: 'the user is asked',
  committed: 'committed',
}
/** The position of a label that is not drawn, because another arrow, or the note, has the same text. */
const HIDDEN: Point = [-1, -1]

type Table = Readonly<Record<string, Readonly<Record<string, string>>>>

function arrowsOf(table: Table, { words }: Diagram, isShown: (event: string, from: string) => boolean): Arrow[] {
  const arrowsByEnds = new Map<string, Set<string>>()
  for (const [from, row] of Object.entries(table)) {
    for (const [event, to] of Object.entries(row)) {
      if (to === 'illegal' || to === from || !isShown(event, from)) continue
      const key = `${from}>${to}`
      arrowsByEnds.set(key, (arrowsByEnds.get(key) ?? new Set()).add(words[`${from} ${event}`] ?? words[event] ?? WORDS[event] ?? event))
    }
  }
  return [...arrowsByEnds].map(([key, labels]) => {
    const [from = '', to = ''] = key.split('>')
    return { from, to, label: [...labels].join(' or ') }
  })
}

const column = (index: number): number => 66 + index * 121

const TASK: Diagram = {
  title: 'A task',
  note: 'Before its commit a task can fail, be cancelled, be marked as done by the user or the coordinator, or go back to the queue. It goes back when its worker is lost, replaced or stopped, or its turn fails. A retry, or your reopening, puts an ended task back into the queue. Without a verdict another worker reviews. A question to you is withdrawn when a worker can review.',
  top: 30,
  boxes: {
    queued: [column(0), 180],
    implementing: [column(1), 180],
    awaiting_review: [column(2), 180],
    in_review: [column(3), 180],
    approved: [column(4), 180],
    committing: [column(5), 180],
    merging: [column(6), 180],
    done: [column(7), 180],
    addressing_feedback: [column(2.5), 280],
    waiting: [column(4), 280],
    failed: [column(6), 280],
    cancelled: [column(7), 280],
  },
  bends: {
    'awaiting_review>approved': [column(3), 106],
    'in_review>awaiting_review': [column(2.5), 138],
    'queued>waiting': [column(1.4), 382],
    'waiting>approved': [column(4.35), 230],
    'approved>waiting': [column(3.65), 230],
    'awaiting_review>waiting': [column(3.1), 230],
    'committing>awaiting_review': [column(3.5), 30],
  },
  labels: {
    'queued>implementing': [column(0.5), 156],
    'implementing>awaiting_review': [column(1.5), 156],
    'awaiting_review>in_review': HIDDEN,
    'in_review>approved': [column(3.58), 211],
    'approved>committing': [column(4.62), 211],
    'committing>merging': [column(5.5), 156],
    'queued>waiting': [column(1.4), 332],
    'waiting>in_review': HIDDEN,
    'waiting>approved': [column(4.85), 244],
    'awaiting_review>waiting': HIDDEN,
    'approved>waiting': HIDDEN,
    'waiting>addressing_feedback': [column(3.25), 292],
    'in_review>awaiting_review': HIDDEN,
    'awaiting_review>approved': [column(3.25), 126],
    'committing>awaiting_review': [column(3.5), 91],
    'in_review>addressing_feedback': [column(2.51), 236],
    'addressing_feedback>awaiting_review': [column(1.98), 244],
    'awaiting_review>addressing_feedback': [column(2.32), 211],
    'merging>done': HIDDEN,
  },
  words: {
    pass: 'no review needed',
    'waiting pass': 'the user approves',
    'waiting approve': 'the user approves',
    review: 'under review',
    commit: 'its turn to land',
    differ: 'differs from the approved state',
  },
}

const PHASE: Diagram = {
  title: 'A worker',
  note: 'A worker does one thing at a time. While its own task awaits review, it may review another. When its task is lost, cancelled, failed or taken over, it is idle again (the arrows without a label). While it commits, SIGTERM and SIGPAUSE wait.',
  top: 376,
  boxes: {
    reviewing: [column(0), 496],
    idle: [column(1.5), 496],
    implementing: [column(3), 496],
    awaiting_review: [column(4.5), 496],
    committing: [column(6), 496],
    addressing_feedback: [column(4.5), 586],
  },
  bends: {
    'idle>reviewing': [column(0.75), 470],
    'reviewing>idle': [column(0.75), 524],
    'idle>implementing': [column(2.25), 476],
    'implementing>idle': [column(2.25), 521],
    'awaiting_review>idle': [column(3), 428],
    'idle>awaiting_review': [column(3), 454],
    'awaiting_review>reviewing': [column(2.2), 334],
    'reviewing>awaiting_review': [column(2.2), 376],
    'committing>idle': [column(3.75), 394],
    'committing>awaiting_review': [column(5.25), 522],
    'addressing_feedback>idle': [column(2.4), 596],
    'awaiting_review>addressing_feedback': [column(4.25), 541],
    'addressing_feedback>awaiting_review': [column(4.75), 541],
  },
  labels: {
    'idle>reviewing': [column(0.75), 494],
    'reviewing>idle': [column(0.75), 530],
    'implementing>idle': HIDDEN,
    'awaiting_review>idle': HIDDEN,
    'awaiting_review>reviewing': HIDDEN,
    'idle>awaiting_review': HIDDEN,
    'reviewing>awaiting_review': [column(2.2), 420],
    'committing>idle': [column(4.9), 438],
    'addressing_feedback>idle': HIDDEN,
    'awaiting_review>addressing_feedback': [column(4.02), 546],
    'addressing_feedback>awaiting_review': [column(5), 546],
    'idle>implementing': [column(2.25), 500],
    'awaiting_review>committing': [column(5.25), 488],
    'committing>awaiting_review': [column(5.3), 530],
  },
  words: {
    release: '',
    resume: '',
    back: 'its task still waits',
    'committing release': 'committed',
    'reviewing release': 'gave its verdict',
    commit: 'APPROVED',
    review: 'gets a review',
    assign: 'gets a task',
    differ: 'reviewed again',
  },
}

const box = (name: string, [x, y]: Point, isRound: boolean): string =>
  `<rect x="${x - BOX.width / 2}" y="${y - BOX.height / 2}" width="${BOX.width}" height="${BOX.height}" rx="${isRound ? 17 : 6}" fill="${isRound ? '#eef6ee' : '#eef2f8'}" stroke="#57606a"/><text x="${x}" y="${y + (name.length > 15 ? -2 : 4)}" text-anchor="middle">${name.length > 15 ? twoLines(name, x) : name.replaceAll('_', ' ')}</text>`

function twoLines(name: string, x: number): string {
  const [first = '', second = ''] = name.split('_')
  return `<tspan x="${x}">${first}</tspan><tspan x="${x}" dy="13">${second}</tspan>`
}

/** The point where a line from the centre of a box leaves the box. */
function edge([x, y]: Point, [toX, toY]: Point): Point {
  const [dx, dy] = [toX - x, toY - y]
  const share = Math.min(BOX.width / 2 / Math.max(1, Math.abs(dx)), BOX.height / 2 / Math.max(1, Math.abs(dy)))
  return [Math.round((x + dx * share) * 10) / 10, Math.round((y + dy * share) * 10) / 10]
}

function drawDiagram({ title, note, top, boxes, bends, labels }: Diagram, arrows: readonly Arrow[]): string {
  const lines = arrows.map(({ from, to, label }) => {
    const [start, end] = [boxes[from], boxes[to]]
    if (!start || !end) throw new Error(`${from} > ${to} has no position in the picture of ${title}`)
    const bend = bends[`${from}>${to}`]
    const [a, b] = [edge(start, bend ?? end), edge(end, bend ?? start)]
    const [x, y] = labels[`${from}>${to}`] ?? [(a[0] + b[0]) / 2, (a[1] + b[1]) / 2 - 6]
    const text =
      label === '' || x < 0
        ? ''
        : `<text x="${x}" y="${y}" text-anchor="middle" font-size="10" fill="#57606a" stroke="#ffffff" stroke-width="3" paint-order="stroke">${label}</text>`
    return [
      `<path data-arrow="${from} ${to}" d="M${a.join(' ')}${bend ? `Q${bend.join(' ')} ` : 'L'}${b.join(' ')}" fill="none" stroke="#57606a" marker-end="url(#tip)"/>`,
      text,
    ] as const
  })
  const roundBoxes = new Set(['done', 'failed', 'cancelled', 'idle'])
  return [
    `<text x="14" y="${top}" font-size="16" font-weight="bold">${title}</text><text x="112" y="${top}" font-size="11" fill="#57606a">${wrapNote(note)}</text>`,
    ...lines.map(([path]) => path),
    ...lines.flatMap(([, text]) => (text === '' ? [] : text)),
    ...Object.entries(boxes).map(([name, at]) => box(name, at, roundBoxes.has(name))),
  ].join('\n')
}

/** Breaks a note into lines of 150 characters: SVG does not wrap text. */
function wrapNote(note: string): string {
  const lines = note.match(/.{1,150}(?= |$)/g) ?? []
  return lines.map((line, index) => `<tspan x="112"${index === 0 ? '' : ' dy="14"'}>${line.trim()}</tspan>`).join('')
}

/** Whether an event of a task has an arrow: not those of nearly every state, and `done` only from `merging`. */
function isDrawn(event: string, from: string): boolean {
  return !EVERYWHERE.has(event) && (event !== 'done' || from === 'merging')
}

export function crewPicture(): string {
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${HEIGHT}" viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="The states of a task and the phases of a worker">
<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0L8 4L0 8z" fill="#57606a"/></marker></defs>
<rect width="${WIDTH}" height="${HEIGHT}" rx="8" fill="#ffffff"/>
<g font-family="system-ui, -apple-system, Segoe UI, Helvetica, Arial, sans-serif" font-size="12" fill="#1f2328">
${drawDiagram(TASK, arrowsOf(TASK_STATE_TABLE, TASK, isDrawn))}
${drawDiagram(
  PHASE,
  arrowsOf(PHASE_TABLE, PHASE, () => true),
)}
</g>
</svg>
`
}

if (import.meta.main) writeFileSync(fileURLToPath(new URL('../docs/reference/crews.svg', import.meta.url)), crewPicture())
