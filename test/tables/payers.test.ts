// Who pays: what passes up at an end, and who pays from then on, also across a crash and when a parent comes back.
import { expect, test } from 'vitest'
import { tallyWithBelow } from '../../src/kernel/limits.ts'
import { Player, play } from '../support/kernel/transcript.ts'

function tokensBelow(player: Player, uuid: string): number {
  const row = player.world.row(uuid)
  if (!row) throw new Error(`no row of ${uuid}`)
  const { inputTokens, outputTokens } = tallyWithBelow(player.world.overlay, row)
  return inputTokens + outputTokens
}

const FAMILY = `
  .live a
  .live b under=a
  .live c under=b
  .report c model 1
  .report c answer 1 tokens=99
`

test('an end passes on what it had used, and its children to its payer', () => {
  expect(play(`${FAMILY}\nreport b exited 3\nreport c exited 0`)).toMatchInlineSnapshot(`
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

test('a parent that is resumed alone after a crash has used what all below it had used', () => {
  const player = new Player()
  player.play(`${FAMILY}\n.boot a\n.boot b\n.boot c\n.resume a\n.start a`)
  expect(tokensBelow(player, 'a')).toBe(100)
  player.play('.resume b\n.start b\n.resume c\n.start c')
  expect(tokensBelow(player, 'a')).toBe(100)
})

test('who is resumed pays again for whom it spawned', () => {
  const player = new Player()
  player.play(`${FAMILY}\n.report b exited 3\n.released b\n.report c model 2\n.report c answer 2 tokens=49\n.resume b\n.start b`)
  expect(tokensBelow(player, 'a')).toBe(150)
  expect(tokensBelow(player, 'b')).toBe(150)
})
