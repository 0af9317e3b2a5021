// Native agents call reeve's own tools within the daemon, in the same turn as other tools, and have them only on request.
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { LocalDaemon } from '../../support/daemon/local-daemon.ts'
import type { EventView } from '../../../src/api/views/daemon.ts'

let daemon: LocalDaemon

beforeEach(async () => {
  daemon = await LocalDaemon.start()
})
afterEach(async () => {
  await daemon[Symbol.asyncDispose]()
  expect(daemon.errors).toEqual([])
})

const call = (name: string, input: object = {}): object => ({ text: '', tools: [{ name: `mcp__reeve__${name}`, input }] })
const DONE = { text: 'done' }

async function readResults(ref: string): Promise<EventView[]> {
  return (await daemon.readHistory(ref)).filter(({ fact }) => fact === 'tool.finished')
}

describe('a native agent', () => {
  test('starts another process, waits for it, and reads its last output', async () => {
    const model = await daemon.writeScript([{ text: 'the answer is 42' }])
    const { uuid } = await daemon.spawnScripted(
      [call('spawn', { intent: 'think', model, name: 'thinker' }), call('wait', { processes: ['thinker'] }), DONE],
      { reeve: true },
    )
    expect(await daemon.waitForEnd(uuid)).toMatchObject({ status: 'completed' })
    const [spawned, waited] = await readResults(uuid)
    expect([spawned?.['outcome'], JSON.parse(String(waited?.['content']))]).toMatchObject([
      'ok',
      { done: true, processes: [{ name: 'thinker', result: 'the answer is 42' }] },
    ])
    const child = (await daemon.view('thinker')).parentUuid
    expect(child).toBe(uuid)
    // Reading has no effect, a start has one: both are recorded, and decide about a crash.
    const startedTools = (await daemon.readHistory(uuid))
      .filter(({ fact }) => fact === 'tool.started')
      .map(({ name, effect }) => [name, effect])
    expect(startedTools).toEqual([
      ['mcp__reeve__spawn', 'once'],
      ['mcp__reeve__wait', 'read'],
    ])
  })

  test('resumes a completed process with only a message', async () => {
    const model = await daemon.writeScript([{ text: 'one' }, { text: 'two' }])
    const resume = (options: object = {}): object => call('resume', { process: 'thinker', ...options })
    const { uuid } = await daemon.spawnScripted(
      [
        call('spawn', { intent: 'think', model, name: 'thinker' }),
        call('wait', { processes: ['thinker'] }),
        resume(),
        resume({ message: 'more' }),
        call('wait', { processes: ['thinker'] }),
        DONE,
      ],
      { reeve: true },
    )
    await daemon.waitForEnd(uuid)
    const [, , refusal, resumeResult, waited] = await readResults(uuid)
    expect([refusal?.['outcome'], refusal?.['content']]).toEqual([
      'error',
      expect.stringMatching(/has completed[^]*Give the next task[^]*`message`/),
    ])
    expect([resumeResult?.['outcome'], waited?.['content']]).toEqual(['ok', expect.stringContaining('two')])
  })

  test('reads its waiting messages in its turn', async () => {
    const { uuid } = await daemon.spawnScripted(
      [
        { text: 'first' },
        call('inbox'),
        { text: '', tools: [{ name: 'bash', input: { command: `until test -e ${daemon.work}/go; do sleep 0.05; done` } }] },
        call('inbox'),
        DONE,
      ],
      { reeve: true, interactive: true, intent: 'begin' },
    )
    await daemon.waitUntilReady(uuid)
    await daemon.send(uuid, 'to work')
    await daemon.waitForEvent(uuid, ({ fact, name }) => fact === 'tool.started' && name === 'bash')
    await daemon.send(uuid, 'and this')
    await writeFile(join(daemon.work, 'go'), '')
    await daemon.waitForEvent(uuid, ({ fact, content }) => fact === 'tool.finished' && String(content).includes('and this'))
    const [emptyInbox, , shownInbox] = await readResults(uuid)
    expect(JSON.parse(String(emptyInbox?.['content']))).toEqual({ messages: [] })
    expect(JSON.parse(String(shownInbox?.['content']))).toMatchObject({ messages: [{ from: 'user', text: 'and this' }] })
  })

  test('has no such tools without a request, and a call gets an error', async () => {
    const { uuid } = await daemon.spawnScripted([call('ps'), DONE])
    await daemon.waitForEnd(uuid)
    expect((await readResults(uuid))[0]).toMatchObject({
      outcome: 'error',
      content: expect.stringContaining('there is no tool "mcp__reeve__ps"; the available tools are: read,'),
    })
  })

  test('has only the tools that its file names', async () => {
    await mkdir(join(daemon.work, '.reeve/agents'), { recursive: true })
    await writeFile(join(daemon.work, '.reeve/agents/lead.md'), '---\ntools: [read, mcp__reeve__ps]\n---\n')
    const { uuid } = await daemon.spawnScripted([call('ps'), call('spawn', { intent: 'x' }), DONE], { agent: 'lead' })
    await daemon.waitForEnd(uuid)
    expect((await readResults(uuid)).map(({ name, outcome }) => [name, outcome])).toEqual([
      ['mcp__reeve__ps', 'ok'],
      ['mcp__reeve__spawn', 'error'],
    ])
  })

  test('has all of them beside its tool list if its file requests them', async () => {
    await mkdir(join(daemon.work, '.reeve/agents'), { recursive: true })
    await writeFile(join(daemon.work, '.reeve/agents/lead.md'), '---\ntools: [read]\nreeve: true\n---\n')
    const { uuid } = await daemon.spawnScripted([call('inspect', { process: 'self' }), DONE], { agent: 'lead' })
    await daemon.waitForEnd(uuid)
    expect((await readResults(uuid)).map(({ outcome }) => outcome)).toEqual(['ok'])
  })

  test('has a tool after a resume that allows it', async () => {
    const { uuid } = await daemon.spawnScripted([call('ps'), DONE, call('ps'), DONE])
    await daemon.waitForEnd(uuid)
    await daemon.resume(uuid, { allow: ['mcp__reeve__ps'], message: 'again' })
    await daemon.waitForEnd(uuid)
    expect((await readResults(uuid)).map(({ outcome }) => outcome)).toEqual(['error', 'ok'])
  })

  test('gives its children no more than it has', async () => {
    const model = await daemon.writeScript([{ text: '', tools: [{ name: 'bash', input: { command: 'true' } }] }, DONE])
    const { uuid } = await daemon.spawnScripted(
      [
        call('spawn', { intent: 'x', model, name: 'child' }),
        call('spawn', { command: ['true'] }),
        call('wait', { processes: ['child'] }),
        DONE,
      ],
      { reeve: true, deny: ['bash'] },
    )
    await daemon.waitForEnd(uuid)
    const [, command] = await readResults(uuid)
    expect(command).toMatchObject({
      outcome: 'error',
      content: expect.stringMatching(/^PERMISSION: a command cannot be limited to the permissions of its parent/),
    })
    expect((await readResults('child'))[0]).toMatchObject({ name: 'bash', outcome: 'denied' })
    expect((await daemon.view('child')).capabilities.deny).toContain('bash')
  })
})

test('a plain command cannot have them, and the error names the reason', async () => {
  await expect(daemon.spawnShell('true', { reeve: true })).rejects.toMatchObject({
    code: 'INVALID',
    message: expect.stringContaining('has no reeve'),
  })
  await mkdir(join(daemon.work, '.reeve/agents'), { recursive: true })
  await writeFile(join(daemon.work, '.reeve/agents/plain.md'), '---\ndriver: command\ncommand: [echo]\nreeve: true\n---\n')
  await expect(daemon.spawn({ agent: 'plain' })).rejects.toMatchObject({
    code: 'INVALID',
    message: expect.stringContaining('has no reeve'),
  })
})
