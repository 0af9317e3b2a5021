// The cost of the current turn begins at 0 with each turn. It continues over incarnations, and so does the cost of all turns.
import { expect, test } from 'vitest'
import { NO_CONTEXT, processView } from '../../../../src/daemon/views/process-view.ts'
import { TranscriptPlayer } from '../../../support/kernel/transcript.ts'

test('a new turn begins at 0; a resume continues the cost of the turn and of all turns', () => {
  const player = new TranscriptPlayer()
  const costsOf = (): { turn: number | null; all: number | null } => {
    const row = player.world.row('a')
    if (!row) throw new Error('there is no process a')
    const {
      usage: { turnCostUsd, costUsd },
    } = processView(row, NO_CONTEXT, player.world.mono)
    return { turn: turnCostUsd, all: costUsd }
  }
  player.play('spawn a interactive intent=')
  expect(costsOf()).toEqual({ turn: null, all: 0 })
  player.play(`
    start a
    report a up
    send a
    report a model 1
    report a answer 1 cost=2
  `)
  expect(costsOf()).toEqual({ turn: 2, all: 2 })
  player.play(`
    report a ended 1
    send a
  `)
  expect(costsOf()).toEqual({ turn: 0, all: 2 })
  player.play(`
    report a model 2
    report a answer 2 cost=1
    report a exited 1
    released a
    resume a
    start a
    report a up
  `)
  expect(costsOf()).toEqual({ turn: 1, all: 3 })
  player.play(`
    report a model 3
    report a answer 3 cost=4
  `)
  expect(costsOf()).toEqual({ turn: 5, all: 7 })
})
