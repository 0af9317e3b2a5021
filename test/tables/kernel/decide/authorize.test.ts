// Permissions, as transcripts: who may start, signal and resume which process, and the permissions of a child, also at a resume and a fork.
// A refused request of an agent is recorded in its journal.
import { describe, expect, test } from 'vitest'
import { TranscriptPlayer, play } from '../../../support/kernel/transcript.ts'

const permissionsOf = (player: TranscriptPlayer, uuid: string) => {
  const { tools, deny, capabilities } = player.world.row(uuid)?.spec ?? {}
  return { tools, deny, ...(capabilities ? { capabilities } : {}) }
}

/** A parent that may read below /a, and write below /a/b. */
const PARENT = '.live p tools=read,ls,write reads=/a writes=/a/b network=off spawns=coder'

describe('a child', () => {
  test('has the permissions of its parent by default', () => {
    const player = new TranscriptPlayer()
    player.play(`${PARENT}\n live c under=p`)
    expect(permissionsOf(player, 'c')).toEqual(permissionsOf(player, 'p'))
  })

  test('has at most what it requests and its parent has; a note names the permissions that it does not get', () => {
    const player = new TranscriptPlayer()
    expect(
      player.play(`
      ${PARENT}
      spawn c under=p tools=read,bash reads=/a/b,/etc writes=/ spawns=reviewer
    `),
    ).toMatchInlineSnapshot(`
      "
      > spawn c under=p tools=read,bash reads=/a/b,/etc writes=/ spawns=reviewer
      c.1 process.spawned #2 under p
      c.2 process.queue intent
      c.3 process.note bash, read:/etc, write:/, spawn:reviewer: not permitted to its parent
      p.7 child.spawned c
        -> done, 1 affected: bash, read:/etc, write:/, spawn:reviewer: not permitted to its parent
        -> start c#2
        == c pending
      "
    `)
    expect(permissionsOf(player, 'c')).toMatchInlineSnapshot(`
      {
        "capabilities": {
          "network": "off",
          "paths": {
            "read": [
              "/a",
            ],
            "write": [
              "/a/b",
            ],
          },
          "spawns": [],
        },
        "deny": [],
        "tools": [
          "read",
        ],
      }
    `)
  })

  test('that can run programs is refused under a parent that may not', () => {
    expect(
      play(`
      ${PARENT}
      spawn c under=p command
      spawn c under=p acp
      .live q deny=write
      .spawn d under=q command
      .live r acp deny=bash
      .spawn e under=r acp
      spawn f under=r command
    `),
    ).toMatchInlineSnapshot(`
      "
      > spawn c under=p command
        -> refused PERMISSION: a command cannot be limited to the permissions of its parent: it runs programs
      > spawn c under=p acp
        -> refused PERMISSION: agent default cannot be limited to the permissions of its parent: it may use its tools without asking
      > spawn f under=r command
        -> refused PERMISSION: a command cannot be limited to the permissions of its parent: it runs programs
      "
    `)
  })
})

describe('an agent', () => {
  test('starts processes only below itself, and only permitted agents', () => {
    expect(
      play(`
      .live a spawns=coder
      .live b under=a agent=coder spawns=
      .live z
      spawn c by=agent:a agent=coder
      spawn c by=agent:a under=z agent=coder
      spawn c by=agent:a under=a agent=reviewer
      spawn c by=agent:a under=a command agent=command
      spawn c by=agent:b under=b agent=coder
      spawn c by=agent:a under=a agent=coder
      spawn d by=agent:a under=b agent=coder
    `),
    ).toMatchInlineSnapshot(`
      "
      > spawn c by=agent:a agent=coder
      a.8 capability.refused spawns: agent:a may start children only of itself and of its descendants
        -> refused PERMISSION: agent:a may start children only of itself and of its descendants
      > spawn c by=agent:a under=z agent=coder
      a.9 capability.refused spawns: agent:a may start children only of itself and of its descendants
        -> refused PERMISSION: agent:a may start children only of itself and of its descendants
      > spawn c by=agent:a under=a agent=reviewer
      a.10 capability.refused spawns: agent:a may not start the agent reviewer, only coder
        -> refused PERMISSION: agent:a may not start the agent reviewer, only coder
      > spawn c by=agent:a under=a command agent=command
      a.11 capability.refused spawns: agent:a may not start a command, only coder
        -> refused PERMISSION: agent:a may not start a command, only coder
      > spawn c by=agent:b under=b agent=coder
      b.7 capability.refused spawns: agent:b may not start the agent coder
        -> refused PERMISSION: agent:b may not start the agent coder
      > spawn c by=agent:a under=a agent=coder
      c.1 process.spawned #4 under a
      c.2 process.queue intent
      a.12 child.spawned c
        -> done, 1 affected
        -> start c#4
        == c pending
      > spawn d by=agent:a under=b agent=coder
      d.1 process.spawned #5 under b
      d.2 process.queue intent
      b.8 child.spawned d
        -> done, 1 affected
        -> start d#5
        == d pending
      "
    `)
  })

  test('signals within its scope', () => {
    expect(
      play(`
      .live a signals=children
      .live b under=a
      .live c under=b
      .live n signals=none
      .live m under=n
      signal SIGINT c by=agent:a
      signal SIGTERM b subtree by=agent:a
      signal SIGKILL m by=agent:n
      .signal SIGPAUSE b by=agent:a
      signal SIGPAUSE n by=agent:n
    `),
    ).toMatchInlineSnapshot(`
      "
      > signal SIGINT c by=agent:a
      a.8 capability.refused signals: agent:a may signal itself and its children only, one by one
        -> refused PERMISSION: agent:a may signal itself and its children only, one by one
      > signal SIGTERM b subtree by=agent:a
      a.9 capability.refused signals: agent:a may signal itself and its children only, one by one
        -> refused PERMISSION: agent:a may signal itself and its children only, one by one
      > signal SIGKILL m by=agent:n
      n.8 capability.refused signals: agent:n may signal only itself
        -> refused PERMISSION: agent:n may signal only itself
      > signal SIGPAUSE n by=agent:n
      n.9 signal.sent SIGPAUSE by agent:n: default
      n.10 process.held user/agent:n
        -> driver.pause n#4
        -> done, 1 affected
        == n suspended
      "
    `)
  })

  test('resumes its descendants, and neither resumes nor forks other processes', () => {
    expect(
      play(`
      .live a
      .live b under=a
      .live z
      .report b exited 0
      .released b
      .report z exited 0
      .released z
      resume z by=agent:a
      .resume b by=agent:a
      fork f of=z by=agent:a
    `),
    ).toMatchInlineSnapshot(`
      "
      > resume z by=agent:a
      a.10 capability.refused signals: agent:a may resume its descendants only
        -> refused PERMISSION: agent:a may resume its descendants only
      > fork f of=z by=agent:a
      a.11 capability.refused signals: agent:a may resume its descendants only
        -> refused PERMISSION: agent:a may resume its descendants only
      "
    `)
  })
})

describe('an agent and other processes', () => {
  test('writes to its parent and to its descendants, and to no other process', () => {
    expect(
      play(`
      .live a
      .live b under=a
      .live c under=b
      .live z
      send a by=agent:b
      send b by=agent:b
      send c by=agent:a
      send a by=agent:c
      send z by=agent:a
    `),
    ).toMatchInlineSnapshot(`
      "
      > send a by=agent:b
      b.8 message.sent
      a.8 process.queue m13
        -> done, 1 affected
      > send b by=agent:b
      b.9 message.sent
      b.10 process.queue m14
        -> done, 1 affected
      > send c by=agent:a
      a.9 message.sent
      c.7 process.queue m15
        -> done, 1 affected
      > send a by=agent:c
      c.8 capability.refused signals: agent:c may write only to its parent, itself and its descendants
        -> refused PERMISSION: agent:c may write only to its parent, itself and its descendants
      > send z by=agent:a
      a.10 capability.refused signals: agent:a may write only to its parent, itself and its descendants
        -> refused PERMISSION: agent:a may write only to its parent, itself and its descendants
      "
    `)
  })

  test('sets its own mask and handlers, and those of no other process', () => {
    expect(
      play(`
      .live a
      .live b under=a
      mask b SIGPAUSE by=agent:b
      mask b SIGTERM by=agent:a
      handle b SIGTERM ignore by=agent:a
    `),
    ).toMatchInlineSnapshot(`
      "
      > mask b SIGPAUSE by=agent:b
      b.7 signal.masked SIGPAUSE
        -> done, 1 affected
      > mask b SIGTERM by=agent:a
      a.8 capability.refused signals: agent:a may change only its own mask, not the mask of process 2
        -> refused PERMISSION: agent:a may change only its own mask, not the mask of process 2
      > handle b SIGTERM ignore by=agent:a
      a.9 capability.refused signals: agent:a may change only its own handlers, not the handlers of process 2
        -> refused PERMISSION: agent:a may change only its own handlers, not the handlers of process 2
      "
    `)
  })

  test('takes its queued messages within its turn, except those of a coordinator', () => {
    expect(
      play(`
      .live a
      .send a by=user
      .send a by=coordinator
      .live b under=a
      take a m4 by=agent:b
      take a m5 by=agent:a
      take a m4 by=agent:a
      take a m4 by=agent:a
    `),
    ).toMatchInlineSnapshot(`
      "
      > take a m4 by=agent:b
      b.7 capability.refused signals: agent:b may change only its own messages, not the messages of process 1
        -> refused PERMISSION: agent:b may change only its own messages, not the messages of process 1
      > take a m5 by=agent:a
        -> refused INVALID: m5: a message of the coordinator or of reeve begins a new turn, and cannot be acknowledged before that turn
      > take a m4 by=agent:a
      a.10 message.taken
        -> done, 1 affected
      > take a m4 by=agent:a
        -> done, 0 affected: 1 of the messages is not queued: acknowledged before, or delivered
      "
    `)
  })
})

describe('a denied permission stays denied', () => {
  const ENDED = `
    ${PARENT}
    .live c under=p tools=read
    .report c exited 1
    .released c`

  test('at a resume and in a fork, also when its parent has ended', () => {
    const player = new TranscriptPlayer()
    player.play(`${ENDED}\n fork f of=c\n report p exited 0\n released p\n resume c\n fork g of=c`)
    const permissions = {
      tools: ['read'],
      deny: [],
      capabilities: { paths: { read: ['/a'], write: ['/a/b'] }, network: 'off', spawns: ['coder'] },
    }
    expect([permissionsOf(player, 'c'), permissionsOf(player, 'f'), permissionsOf(player, 'g')]).toEqual([
      permissions,
      permissions,
      permissions,
    ])
  })

  test('the user may extend its permissions, but not beyond those of its living parent', () => {
    const player = new TranscriptPlayer()
    player.play(`${ENDED}\n resume c tools=read,ls,bash reads=/ writes=/a`)
    expect(permissionsOf(player, 'c')).toMatchObject({ tools: ['read', 'ls'], capabilities: { paths: { read: ['/a'], write: ['/a/b'] } } })
    player.play('start c\n report c up\n report c exited 1\n released c\n report p exited 0\n released p\n resume c tools=read,bash')
    expect(permissionsOf(player, 'c')).toMatchObject({ tools: ['read', 'bash'] })
  })

  test.each(['system', 'agent:p'])('%s cannot extend the permissions', (sender) => {
    const player = new TranscriptPlayer()
    player.play(`${ENDED}\n resume c by=${sender} tools=read,ls\n fork f of=c by=${sender} tools=read,ls`)
    expect(permissionsOf(player, 'c')).toMatchObject({ tools: ['read'] })
    if (sender === 'system') expect(permissionsOf(player, 'f')).toMatchObject({ tools: ['read'] })
  })

  test('a resumed child loses the permissions that its parent has lost', () => {
    const player = new TranscriptPlayer()
    player.play(`
      live p
      live c under=p
      report c exited 1
      released c
      report p exited 1
      released p
      resume p deny=bash
      start p
      report p up
      resume c
    `)
    expect(permissionsOf(player, 'c')).toEqual({ tools: null, deny: ['bash'] })
  })
})

test('a process that restarts automatically has at most the current permissions of its parent', () => {
  const player = new TranscriptPlayer()
  player.play(`
    live p
    live c under=p restart=permanent
    report p exited 1
    released p
    resume p deny=bash
    start p
    report p up
  `)
  expect(permissionsOf(player, 'c')).toEqual({ tools: null, deny: [] })
  player.play('report c exited 1\nreleased c')
  expect(player.world.row('c')?.life.state).toBe('created')
  expect(permissionsOf(player, 'c')).toEqual({ tools: null, deny: ['bash'] })
})
