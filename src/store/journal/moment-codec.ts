// The stored form of a moment: a short text beside the fact. This is a format on disk: each status keeps its number, and a new status is
// appended. Most processes have an empty queue; their moment is `[N]`, and all of them share one value.
// Test: test/tables/store/journal/fact-codec.test.ts.
import type { Moment } from '../../kernel/model/moment.ts'
import type { Status } from '../../kernel/model/status.ts'

const STATUS_NUMBERS = {
  pending: 0,
  starting: 1,
  ready: 2,
  working: 3,
  waiting: 4,
  suspended: 5,
  stopping: 6,
  zombie: 7,
  completed: 8,
  retired: 9,
  stopped: 10,
  failed: 11,
  interrupted: 12,
} as const satisfies Record<Status, number>
const STATUSES = Object.keys(STATUS_NUMBERS) as Status[]
const TEXTS_WITHOUT_QUEUE = STATUSES.map((status) => `[${STATUS_NUMBERS[status]}]`)
const MOMENTS_WITHOUT_QUEUE: ReadonlyMap<string, Moment> = new Map(
  STATUSES.map((status) => [`[${STATUS_NUMBERS[status]}]`, { status, queueCount: 0 }]),
)

export function packMoment({ status, queueCount, role, phase, taskId }: Moment): string {
  const number = STATUS_NUMBERS[status]
  if (role === undefined) return queueCount === 0 ? (TEXTS_WITHOUT_QUEUE[number] ?? '') : `[${number},${queueCount}]`
  return JSON.stringify([number, queueCount, role, phase, ...(taskId === undefined ? [] : [taskId])])
}

/** Restores a moment; undefined if the text is invalid. */
export function unpackMoment(text: string): Moment | undefined {
  const plain = MOMENTS_WITHOUT_QUEUE.get(text)
  if (plain) return plain
  let values: unknown
  try {
    values = JSON.parse(text)
  } catch {
    // The caller reports damage if the result is undefined.
    return undefined
  }
  if (!Array.isArray(values)) return undefined
  const [number, queueCount, ...crewTexts] = values as unknown[]
  const status = STATUSES[Number(number)]
  if (status === undefined || !Number.isSafeInteger(queueCount) || crewTexts.some((value) => typeof value !== 'string')) return undefined
  const [role, phase, taskId] = crewTexts as string[]
  return {
    status,
    queueCount: Number(queueCount),
    ...(role === undefined || phase === undefined ? {} : { role, phase }),
    ...(taskId === undefined ? {} : { taskId }),
  }
}
