// Escalation: a kill by the stop ladder is a fact of its own, recorded once, and the exit mentions it. The first cause stays.
import { describe, expect, test } from 'vitest'
import { runStopLadder } from '../../../../src/drivers/contain/stop-ladder.ts'
import { play, TranscriptPlayer } from '../../../support/kernel/transcript.ts'

describe('the kernel', () => {
  test('keeps the first cause, and adds the time after which SIGKILL followed', () => {
    expect(
      play(`
      .live a
      .signal SIGTERM a
      report a escalated 300
      report a escalated 400
      report a exited SIGKILL
    `),
    ).toMatchInlineSnapshot(`
      "
      > report a escalated 300
      a.9 signal.escalated SIGTERM -> SIGKILL after 300
        -> ack ok
      > report a escalated 400
        -> ack late
      > report a exited SIGKILL
      a.10 process.exited 143 SIGTERM from user; SIGKILL after 300 ms (person)
        -> release cancel a#1
        -> release await a#1
        -> ack ok
        == a zombie
      "
    `)
  })

  test('shows an escalation only in its fact, if the end was requested without a signal', () => {
    expect(
      play(`
      .live a timeoutMs=50
      .wind 50
      report a escalated 10000
      report a exited SIGKILL
    `),
    ).toMatchInlineSnapshot(`
      "
      > report a escalated 10000
      a.8 signal.escalated SIGTERM -> SIGKILL after 10000
        -> ack ok
      > report a exited SIGKILL
      a.9 process.exited 1 timed out (limit)
        -> release cancel a#1
        -> release await a#1
        -> ack ok
        == a zombie
      "
    `)
  })

  test('ignores an escalation of a process that is not being ended', () => {
    expect(play('.live a\nreport a escalated 300')).toMatchInlineSnapshot(`
      "
      > report a escalated 300
        -> ack late
      "
    `)
  })

  test('the row keeps the last five signals, over its incarnations, and shows which of them escalated', () => {
    const player = new TranscriptPlayer()
    player.play(
      '.live a\n.signal SIGPAUSE a\n.resume a\n.signal SIGRESUME a\n.signal SIGRESUME a\n.signal SIGRESUME a\n.signal SIGINT a by=agent:a\n.signal SIGTERM a',
    )
    player.play('.report a escalated 7\n.report a exited SIGKILL\n.released a\n.resume a')
    const { signals } = player.world.row('a') ?? {}
    expect(signals?.recent?.map(({ signal, by, escalatedMs }) => [signal, by, escalatedMs])).toEqual([
      ['SIGRESUME', 'user', undefined],
      ['SIGRESUME', 'user', undefined],
      ['SIGRESUME', 'user', undefined],
      ['SIGINT', 'agent:a', undefined],
      ['SIGTERM', 'user', 7],
    ])
    expect(signals).toMatchObject({ mask: [], pending: [], handlers: {} })
  })
})

describe('the stop ladder', () => {
  function makeLadder(endsWith: 'SIGTERM' | 'kill'): {
    readonly actions: string[]
    readonly ladder: Parameters<typeof runStopLadder>[0]
  } {
    const actions: string[] = []
    let isLiving = true
    return {
      actions,
      ladder: {
        isEmpty: () => !isLiving,
        programsEnded: () => !isLiving,
        signalPrograms: (signal) => {
          actions.push(signal)
          if (endsWith === 'SIGTERM') isLiving = false
        },
        signalMembers: () => {},
        kill: () => {
          actions.push('kill')
          isLiving = false
        },
        members: () => (isLiving ? [4711] : []),
        waiting: { watch: () => () => {}, pollMs: 1 },
      },
    }
  }

  test('reports the kill before it happens, once', async () => {
    const { actions, ladder } = makeLadder('kill')
    expect(await runStopLadder(ladder, { signal: 'SIGTERM', graceMs: 0, onKill: () => actions.push('report') })).toEqual({
      outcome: 'killed',
      survivors: [],
    })
    expect(actions).toEqual(['SIGTERM', 'report', 'kill'])
  })

  test('reports neither an end in time nor a requested kill', async () => {
    const ladderWithoutKill = makeLadder('SIGTERM')
    await runStopLadder(ladderWithoutKill.ladder, {
      signal: 'SIGTERM',
      graceMs: 1_000,
      onKill: () => ladderWithoutKill.actions.push('report'),
    })
    expect(ladderWithoutKill.actions).toEqual(['SIGTERM'])
    const killedLadder = makeLadder('kill')
    await runStopLadder(killedLadder.ladder, { signal: 'SIGKILL', graceMs: 0, onKill: () => killedLadder.actions.push('report') })
    expect(killedLadder.actions).toEqual(['kill'])
  })
})
