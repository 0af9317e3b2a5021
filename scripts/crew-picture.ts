// Draws docs/crews.svg: the states of a task, and the phases of a worker, from the tables in src/crew. `node scripts/crew-picture.ts`.
// Where a box stands and how an arrow bends is said here; which arrows there are the tables say, and one without a place is an
// error. Test: test/tables/crew-picture.test.ts holds the file to the tables.
import { writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { PHASES } from '../src/crew/phases.ts'
import { TASKS } from '../src/crew/tasks.ts'

type Point = readonly [x: number, y: number]

interface Diagram {
  readonly title: string
  readonly note: string
  readonly top: number
  readonly boxes: Readonly<Record<string, Point>>
  /** `from>to` with the point that an arrow bends to; absent: it is straight */
  readonly bends: Readonly<Record<string, Point>>
  readonly labels: Readonly<Record<string, Point>>
  /** of an event, or of one from a state, in place of the usual ones */
  readonly words: Readonly<Record<string, string>>
}

interface Arrow {
  readonly from: string
  readonly to: string
  readonly label: string
}

const WIDTH = 980
const HEIGHT = 600
const BOX = { width: 104, height: 34 }

/** What may happen in nearly every state is said in words. */
const EVERYWHERE: ReadonlySet<string> = new Set(['requeue', 'fail', 'cancel'])
const WORDS: Readonly<Record<string, string>> = { assign: 'assigned', report: 'reported', unreview: 'no verdict', deny: 'DENIED', approve: 'APPROVED', ask: 'a person is asked', committed: 'committed' }
/** A label that is not shown: the same stands beside another arrow, or in the note. */
const NONE: Point = [-1, -1]

type Table = Readonly<Record<string, Readonly<Record<string, string>>>>

function arrowsOf(table: Table, { words }: Diagram, isShown: (event: string, from: string) => boolean): Arrow[] {
  const found = new Map<string, Set<string>>()
  for (const [from, row] of Object.entries(table)) {
    for (const [event, to] of Object.entries(row)) {
      if (to === 'illegal' || to === from || !isShown(event, from)) continue
      const key = `${from}>${to}`
      found.set(key, (found.get(key) ?? new Set()).add(words[`${from} ${event}`] ?? words[event] ?? WORDS[event] ?? event))
    }
  }
  return [...found].map(([key, labels]) => {
    const [from = '', to = ''] = key.split('>')
    return { from, to, label: [...labels].join(' or ') }
  })
}

const column = (index: number): number => 66 + index * 121

const TASK: Diagram = {
  title: 'A task',
  note: 'Until it is being committed a task can fail, be cancelled, be called done by a person or the coordinator, or go back to the queue: its worker was lost, replaced or stopped, or its turn failed.',
  top: 30,
  boxes: {
    queued: [column(0), 150], implementing: [column(1), 150], awaiting_review: [column(2), 150], in_review: [column(3), 150], approved: [column(4), 150], committing: [column(5), 150], merging: [column(6), 150], done: [column(7), 150],
    addressing_feedback: [column(2.5), 250], waiting: [column(4), 250], failed: [column(6), 250], cancelled: [column(7), 250],
  },
  bends: {
    'awaiting_review>approved': [column(3), 40], 'in_review>awaiting_review': [column(2.5), 100], 'queued>waiting': [column(1.4), 370], 'waiting>approved': [column(4.35), 200], 'approved>waiting': [column(3.65), 200], 'awaiting_review>waiting': [column(3.1), 190],
  },
  labels: {
    'queued>implementing': [column(0.5), 126], 'implementing>awaiting_review': [column(1.5), 126], 'awaiting_review>in_review': NONE, 'in_review>approved': [column(3.55), 184], 'approved>committing': [column(4.5), 126], 'committing>merging': [column(5.5), 126],
    'queued>waiting': [column(1.4), 314], 'waiting>approved': [column(4.85), 214], 'awaiting_review>waiting': NONE, 'approved>waiting': NONE, 'waiting>addressing_feedback': [column(3.25), 244], 'in_review>awaiting_review': [column(2.5), 112],
    'awaiting_review>approved': [column(3), 80], 'in_review>addressing_feedback': [column(3), 220], 'addressing_feedback>awaiting_review': [column(1.98), 214], 'merging>done': NONE,
  },
  words: { pass: 'no review is wanted', 'waiting pass': 'a person says yes', 'waiting approve': 'a person says yes', review: 'a reviewer has it', commit: 'nobody else commits' },
}

const PHASE: Diagram = {
  title: 'A worker',
  note: 'One thing at a time. What it did is lost, cancelled, failed or taken over: then it is idle again (the arrows without a word). While it commits, SIGTERM and SIGPAUSE wait.',
  top: 350,
  boxes: { reviewing: [column(0), 470], idle: [column(1.5), 470], implementing: [column(3), 470], awaiting_review: [column(4.5), 470], committing: [column(6), 470], addressing_feedback: [column(4.5), 560] },
  bends: {
    'idle>reviewing': [column(0.75), 440], 'reviewing>idle': [column(0.75), 500], 'idle>implementing': [column(2.25), 450], 'implementing>idle': [column(2.25), 495], 'awaiting_review>idle': [column(3), 402], 'committing>idle': [column(3.75), 368],
    'addressing_feedback>idle': [column(2.4), 570], 'awaiting_review>addressing_feedback': [column(4.25), 515], 'addressing_feedback>awaiting_review': [column(4.75), 515],
  },
  labels: {
    'idle>reviewing': [column(0.75), 440], 'reviewing>idle': [column(0.75), 510], 'implementing>idle': NONE, 'awaiting_review>idle': NONE, 'committing>idle': [column(4.1), 402], 'addressing_feedback>idle': NONE,
    'awaiting_review>addressing_feedback': [column(4.02), 520], 'addressing_feedback>awaiting_review': [column(5), 520], 'idle>implementing': [column(2.25), 446], 'awaiting_review>committing': [column(5.25), 462],
  },
  words: { release: '', 'committing release': 'committed', 'reviewing release': 'gave its verdict', commit: 'APPROVED', review: 'has a review', assign: 'has a task' },
}

const box = (name: string, [x, y]: Point, isEnd: boolean): string =>
  `<rect x="${x - BOX.width / 2}" y="${y - BOX.height / 2}" width="${BOX.width}" height="${BOX.height}" rx="${isEnd ? 17 : 6}" fill="${isEnd ? '#eef6ee' : '#eef2f8'}" stroke="#57606a"/><text x="${x}" y="${y + (name.length > 15 ? -2 : 4)}" text-anchor="middle">${name.length > 15 ? twoLines(name, x) : name.replaceAll('_', ' ')}</text>`

function twoLines(name: string, x: number): string {
  const [first = '', second = ''] = name.split('_')
  return `<tspan x="${x}">${first}</tspan><tspan x="${x}" dy="13">${second}</tspan>`
}

/** Where a line from a box to a point leaves the box. */
function edge([x, y]: Point, [toX, toY]: Point): Point {
  const [dx, dy] = [toX - x, toY - y]
  const share = Math.min(BOX.width / 2 / Math.max(1, Math.abs(dx)), BOX.height / 2 / Math.max(1, Math.abs(dy)))
  return [Math.round((x + dx * share) * 10) / 10, Math.round((y + dy * share) * 10) / 10]
}

function drawn({ title, note, top, boxes, bends, labels }: Diagram, arrows: readonly Arrow[]): string {
  const lines = arrows.map(({ from, to, label }) => {
    const [start, end] = [boxes[from], boxes[to]]
    if (!start || !end) throw new Error(`${from} > ${to} has no place in the picture of ${title}`)
    const bend = bends[`${from}>${to}`]
    const [a, b] = [edge(start, bend ?? end), edge(end, bend ?? start)]
    const [x, y] = labels[`${from}>${to}`] ?? [(a[0] + b[0]) / 2, (a[1] + b[1]) / 2 - 6]
    const text = label === '' || x < 0 ? '' : `<text x="${x}" y="${y}" text-anchor="middle" font-size="10" fill="#57606a">${label}</text>`
    return `<path data-arrow="${from} ${to}" d="M${a.join(' ')}${bend ? `Q${bend.join(' ')} ` : 'L'}${b.join(' ')}" fill="none" stroke="#57606a" marker-end="url(#tip)"/>${text}`
  })
  const ends = new Set(['done', 'failed', 'cancelled', 'idle'])
  return [`<text x="14" y="${top}" font-size="16" font-weight="bold">${title}</text><text x="100" y="${top}" font-size="11" fill="#57606a">${wrapped(note)}</text>`, ...lines, ...Object.entries(boxes).map(([name, at]) => box(name, at, ends.has(name)))].join('\n')
}

/** SVG breaks no lines. */
function wrapped(note: string): string {
  const at = note.length > 150 ? note.indexOf(' ', note.length / 2) : note.length
  return `<tspan x="100">${note.slice(0, at)}</tspan><tspan x="100" dy="14">${note.slice(at + 1)}</tspan>`
}

/** That a task is done is told of the way that is meant. */
function isTold(event: string, from: string): boolean {
  return !EVERYWHERE.has(event) && (event !== 'done' || from === 'merging')
}

export function picture(): string {
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${HEIGHT}" viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="The states of a task and the phases of a worker">
<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto-start-reverse"><path d="M0 0L8 4L0 8z" fill="#57606a"/></marker></defs>
<rect width="${WIDTH}" height="${HEIGHT}" rx="8" fill="#ffffff"/>
<g font-family="system-ui, -apple-system, Segoe UI, Helvetica, Arial, sans-serif" font-size="12" fill="#1f2328">
${drawn(TASK, arrowsOf(TASKS, TASK, isTold))}
${drawn(PHASE, arrowsOf(PHASES, PHASE, () => true))}
</g>
</svg>
`
}

if (import.meta.main) writeFileSync(fileURLToPath(new URL('../docs/crews.svg', import.meta.url)), picture())
