// Work in slices: the work in one turn of the event loop, its order, and the wait for connections. The test counts turns and sets the
// clock.
import { describe, expect, test } from 'vitest'
import { EventLoopTurns } from '../../../../src/drivers/common/event-loop-turns.ts'

const PIECES = 30

/** Records the events in each turn of the event loop, until the work is done. */
class WatchedLoop {
  ms = 1_000
  readonly turns = new EventLoopTurns(() => this.ms)
  /** the names of the events, one list per turn */
  readonly turnEvents: string[][] = [[]]
  /** called at the beginning of each turn */
  onTurn = (): void => {}
  #isOver = false

  constructor() {
    const beginTurn = (): void => {
      this.turnEvents.push([])
      this.onTurn()
      if (!this.#isOver) setImmediate(beginTurn)
    }
    setImmediate(beginTurn)
  }

  note(event: string, tookMs: number): void {
    this.turnEvents.at(-1)?.push(event)
    this.ms += tookMs
  }

  async runUntil(work: Promise<unknown>): Promise<void> {
    await work
    this.#isOver = true
  }

  get allEvents(): string[] {
    return this.turnEvents.flat()
  }

  /** the largest number of events in one turn */
  get mostEventsPerTurn(): number {
    return Math.max(...this.turnEvents.map((events) => events.length))
  }
}

const makePieces = (count: number): string[] => Array.from({ length: count }, (_, index) => String(index))

describe('a queue of work', () => {
  test('runs simultaneous requests in order, in slices of 10 ms; the next slice waits for the next turn of the event loop', async () => {
    const watched = new WatchedLoop()
    const queue = watched.turns.newQueue()
    await watched.runUntil(
      Promise.all(
        makePieces(PIECES).map(async (piece) => {
          await queue.next()
          watched.note(piece, 4)
        }),
      ),
    )
    expect(watched.allEvents).toEqual(makePieces(PIECES))
    expect(watched.mostEventsPerTurn).toBe(3)
  })

  test('counts the work that a piece does after it has awaited promises', async () => {
    const watched = new WatchedLoop()
    const queue = watched.turns.newQueue()
    await watched.runUntil(
      Promise.all(
        makePieces(PIECES).map(async (piece) => {
          await queue.next()
          for (let hop = 0; hop < 5; hop += 1) await Promise.resolve()
          watched.note(piece, 11)
        }),
      ),
    )
    expect(watched.allEvents).toEqual(makePieces(PIECES))
    expect(watched.mostEventsPerTurn).toBe(1)
  })

  test('takes no time from another queue', async () => {
    const watched = new WatchedLoop()
    const [starts, ends] = [watched.turns.newQueue(), watched.turns.newQueue()]
    const started = Promise.all(
      makePieces(PIECES).map(async (piece) => {
        await starts.next()
        watched.note(piece, 11)
      }),
    )
    await watched.runUntil(ends.next().then(() => watched.note('end', 0)))
    expect(watched.allEvents.indexOf('end')).toBeLessThanOrEqual(2)
    await started
  })
})

describe('while connections arrive', () => {
  test('a slice waits for them, and continues after a turn without a connection', async () => {
    const watched = new WatchedLoop()
    let connectionsLeft = 20
    watched.onTurn = () => {
      if (connectionsLeft === 0) return
      connectionsLeft -= 1
      watched.note('connection', 1)
      watched.turns.noteArrival()
    }
    watched.turns.noteArrival()
    const queue = watched.turns.newQueue()
    await watched.runUntil(
      Promise.all(
        makePieces(2).map(async (piece) => {
          await queue.next()
          watched.note(piece, 1)
        }),
      ),
    )
    expect(watched.allEvents).toEqual([...Array.from({ length: 20 }, () => 'connection'), '0', '1'])
  })

  test('a slice waits for at most 20 ms; the next slice waits again', async () => {
    const watched = new WatchedLoop()
    let isOver = false
    watched.onTurn = () => {
      if (isOver) return
      watched.note('connection', 10)
      watched.turns.noteArrival()
    }
    watched.turns.noteArrival()
    const queue = watched.turns.newQueue()
    await watched.runUntil(
      Promise.all(
        makePieces(3).map(async (piece) => {
          await queue.next()
          watched.note(piece, 11)
          isOver = piece === '2'
        }),
      ),
    )
    const order = watched.allEvents.map((event) => (event === 'connection' ? '.' : event)).join('')
    expect(order).toMatch(/^\.{2,4}0\.{2,4}1\.{2,4}2/)
  })
})
