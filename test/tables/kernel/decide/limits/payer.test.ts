// The payer of a process: the usage that passes to it at an end, and the payer afterwards, also after a crash and a resume of the
// parent.
import { expect, test } from 'vitest'
import { payerOf } from '../../../../../src/kernel/state/accounts.ts'
import { tallyWithBelow } from '../../../../../src/kernel/state/limits.ts'
import { TranscriptPlayer, play } from '../../../../support/kernel/transcript.ts'

function tokensBelow(player: TranscriptPlayer, uuid: string): number {
  const row = player.world.row(uuid)
  if (!row) throw new Error(`no row of ${uuid}`)
  const { inputTokens, outputTokens } = tallyWithBelow(player.world.overlay, row)
  return inputTokens + outputTokens
}

const SUBTREE = `
  .live a
  .live b under=a
  .live c under=b
  .report c model 1
  .report c answer 1 tokens=99
`

test('an end passes the usage and the children to the payer', () => {
  expect(play(`${SUBTREE}\nreport b exited 3\nreport c exited 0`)).toMatchInlineSnapshot(`
    "
    > report b exited 3
    b.8 child.spent c steps 1, turns 1, inputTokens 99, outputTokens 1, costUsd 0.01
    c.9 process.reparented to PID 0, paid by a
    a.8 child.spent b steps 1, turns 2, inputTokens 99, outputTokens 1, costUsd 0.01
    b.9 process.exited 3 exit code 3 (agent)
    a.9 child.exited b 3 exit code 3
      -> release cancel b#2
      -> release await b#2
      -> ack ok
      == b zombie
    > report c exited 0
    c.10 process.exited 0 completed (agent)
      -> release cancel c#3
      -> release await c#3
      -> ack ok
      == c zombie
    "
  `)
})

test('a parent that the user resumes alone after a crash keeps the usage of all its descendants', () => {
  const player = new TranscriptPlayer()
  player.play(`${SUBTREE}\n.boot a\n.boot b\n.boot c\n.resume a\n.start a`)
  expect(tokensBelow(player, 'a')).toBe(100)
  player.play('.resume b\n.start b\n.resume c\n.start c')
  expect(tokensBelow(player, 'a')).toBe(100)
})

test('a resumed process pays again for the processes that it spawned', () => {
  const player = new TranscriptPlayer()
  player.play(`${SUBTREE}\n.report b exited 3\n.released b\n.report c model 2\n.report c answer 2 tokens=49\n.resume b\n.start b`)
  expect(tokensBelow(player, 'a')).toBe(150)
  expect(tokensBelow(player, 'b')).toBe(150)
})

test('a resumed process is the parent and payer of its living children again, also after a crash of the daemon', () => {
  for (const ending of [
    '.report b exited 3\n.released b',
    '.boot a\n.boot b\n.boot c\n.resume a\n.start a',
    '.signal SIGKILL b\n.report b exited SIGKILL\n.released b',
  ]) {
    const player = new TranscriptPlayer()
    player.play(`.live a\n.live b under=a\n.live c interactive under=b\n.signal SIGPAUSE c by=agent:b\n${ending}`)
    expect(player.world.row('c')?.parent).toBeNull()
    player.play('.resume b\n.start b')
    const child = player.world.row('c')
    expect([child?.parent, child && payerOf(child)]).toEqual(['b', 'b'])
    expect(player.play('signal SIGRESUME c by=agent:b')).toContain('process.released user/agent:b')
    expect(player.play('signal SIGPAUSE b subtree')).toContain('c.')
    expect(player.play('resume b subtree')).toContain('-> done, 2 affected')
  }
})

test('a resumed process adopts neither an ended child nor a process that it did not spawn', () => {
  const player = new TranscriptPlayer()
  player.play('.live a\n.live b under=a\n.live c under=b\n.live d\n.report a exited 3\n.released a\n.report b exited 3\n.resume a')
  expect(['b', 'c', 'd'].map((uuid) => player.world.row(uuid)?.parent)).toEqual([null, null, null])
})
