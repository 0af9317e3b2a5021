// What users record about a process, as transcripts: its name, its labels, what they have seen, and snoozes.
import { expect, test } from 'vitest'
import { play, TranscriptPlayer } from '../../../support/kernel/transcript.ts'

test('a process gets another name, alive or dead, and its old name is free', () => {
  expect(
    play(`
      .live a
      .rename a x
      .live b
      rename a y
      rename a y
      rename b x
      rename a x
      .report a exited 0
      .released a
      rename a x
      rename a z
      rename b y
      rename c y
    `),
  ).toMatchInlineSnapshot(`
    "
    > rename a y
    a.8 process.described x -> y
      -> done, 1 affected
    > rename a y
      -> done, 0 affected: the process already has this name
    > rename b x
    b.7 process.described - -> x
      -> done, 1 affected
    > rename a x
      -> refused CONFLICT: a living process is called "x"
    > rename a x
      -> refused CONFLICT: a living process is called "x"
    > rename a z
    a.11 process.described y -> z
      -> done, 1 affected
    > rename b y
    b.8 process.described x -> y
      -> done, 1 affected
    > rename c y
      -> refused NOT_FOUND: no process c
    "
  `)
})

test('an agent renames only itself', () => {
  expect(
    play(`
      .live a
      .live b under=a
      rename b y by=agent:a
      rename a y by=agent:a
    `),
  ).toMatchInlineSnapshot(`
    "
    > rename b y by=agent:a
    a.8 capability.refused signals: agent:a may change only its own name, not the name of process 2
      -> refused PERMISSION: agent:a may change only its own name, not the name of process 2
    > rename a y by=agent:a
    a.9 process.described - -> y
      -> done, 1 affected
    "
  `)
})

test('a crew and its members keep their names', () => {
  expect(
    play(`
      .live crew c
      .live member w of=c id=worker-1
      rename c other
      rename w other
    `),
  ).toMatchInlineSnapshot(`
    "
    > rename c other
      -> refused INVALID: crew 1 keeps its name: its branch is reeve/c, and \`crew up\` finds its earlier tasks by the name
    > rename w other
      -> refused INVALID: process 2 is worker-1 of a crew, and the crew addresses its members by their ids
    "
  `)
})

test('labels are set, replaced and removed, also of a dead process', () => {
  expect(
    play(`
      .live a
      label a team=web draft=yes
      label a team=web
      label a draft=
      .report a exited 0
      .released a
      label a team=docs
      label a team=
      label a team=
    `),
  ).toMatchInlineSnapshot(`
    "
    > label a team=web draft=yes
    a.7 process.described {"team":"web","draft":"yes"}
      -> done, 1 affected
    > label a team=web
      -> done, 0 affected: the process already has these labels
    > label a draft=
    a.8 process.described {"team":"web"}
      -> done, 1 affected
    > label a team=docs
    a.11 process.described {"team":"docs"}
      -> done, 1 affected
    > label a team=
    a.12 process.described undefined
      -> done, 1 affected
    > label a team=
      -> done, 0 affected: the process already has these labels
    "
  `)
})

test('a process has at most 32 labels', () => {
  const labels = Array.from({ length: 32 }, (_, index) => `k${index}=1`).join(' ')
  const player = new TranscriptPlayer()
  player.play(`.live a\n.label a ${labels}`)
  expect(player.play('label a one-more=1')).toContain('refused INVALID: process 1 would have 33 labels; it can have 32')
  expect(player.play('label a one-more=1 k0=')).toContain('done, 1 affected')
})

test('a resumed process keeps its new name', () => {
  const player = new TranscriptPlayer()
  player.play('.live a\n.rename a y\n.report a exited 0\n.released a\n.resume a rerun')
  expect(player.world.row('a')?.spec.name).toBe('y')
})

test('what the user has seen is recorded once, alive or dead', () => {
  expect(
    play(`
      .live a acp interactive
      .report a session s1
      seen a
      .report a asks q1
      seen a
      seen a
      .wind 1000
      .report a exited 0
      .released a
      seen a
      seen b
    `),
  ).toMatchInlineSnapshot(`
    "
    > seen a
      -> done, 0 affected: there is nothing new
    > seen a
    a.9 process.seen
      -> done, 1 affected
    > seen a
      -> done, 0 affected: there is nothing new
    > seen a
    a.12 process.seen
      -> done, 1 affected
    > seen b
      -> refused NOT_FOUND: no process b
    "
  `)
})

test('needs are snoozed until a time, and shown again', () => {
  expect(
    play(`
      .live a acp interactive
      .report a session s1
      .report a asks q1
      snooze a 1
      snooze a 9999999999999
      snooze a none
      snooze a none
      snooze a 9999999999999
      answer a text=blue
      snooze a none
    `),
  ).toMatchInlineSnapshot(`
    "
    > snooze a 1
      -> refused INVALID: needs can be put off only until a time in the future
    > snooze a 9999999999999
    a.9 process.snoozed
      -> done, 1 affected
    > snooze a none
    a.10 process.snoozed
      -> done, 1 affected
    > snooze a none
      -> done, 0 affected: its needs are not put off
    > snooze a 9999999999999
    a.11 process.snoozed
      -> done, 1 affected
    > answer a text=blue
    a.12 process.answered q1 blue by user
      -> driver.answer a#1
      -> done, 1 affected
      == a working
    > snooze a none
      -> done, 0 affected: its needs are not put off
    "
  `)
})
