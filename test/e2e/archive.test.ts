// Export and import through the API: what is written, that it comes back as it was, here and in another home, and is written
// again byte for byte; forks, processes that live, and what is in the way.
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { ApiError } from '../../src/api/client.ts'
import type { ExportedView, ImportedView } from '../../src/api/history-views.ts'
import type { ProcessView } from '../../src/api/views.ts'
import { LocalDaemon } from '../support/local-daemon.ts'
import { Repository } from '../support/repository.ts'

let [here, there]: LocalDaemon[] = []
let daemons: LocalDaemon[] = []
beforeEach(async () => {
  daemons = await Promise.all([LocalDaemon.start(), LocalDaemon.start()])
  ;[here, there] = daemons
})
afterEach(async () => {
  for (const daemon of daemons) {
    await daemon[Symbol.asyncDispose]()
    expect(daemon.errors).toEqual([])
  }
})

const at = (daemon: LocalDaemon | undefined): LocalDaemon => {
  if (daemon === undefined) throw new Error('no daemon')
  return daemon
}
const exporting = (daemon: LocalDaemon | undefined, ref: string, dir: string): Promise<ExportedView> => at(daemon).client.post(`/v1/processes/${ref}/export`, { dir })
const importing = (daemon: LocalDaemon | undefined, dir: string): Promise<ImportedView> => at(daemon).client.post('/v1/import', { dir })

async function errorOf(promise: Promise<unknown>): Promise<ApiError> {
  const error: unknown = await promise.then((value) => new Error(`it did not fail: ${JSON.stringify(value)}`), (caught: unknown) => caught)
  if (error instanceof ApiError) return error
  throw error
}

/** Two steps with a tool in the first, and an end. */
async function worker(daemon: LocalDaemon | undefined, name: string): Promise<ProcessView> {
  const { uuid } = await at(daemon).play([{ text: 'I look first.', tools: [{ name: 'bash', input: { command: 'echo from the tool' } }] }, { text: 'It is done.' }], { name, intent: 'find out' })
  return at(daemon).ended(uuid)
}

const filesOf = (dir: string): Record<string, string> => Object.fromEntries(readdirSync(dir).toSorted().map((name) => [name, readFileSync(join(dir, name), 'utf8')]))
const linesOf = (text = ''): Record<string, unknown>[] => text.split('\n').filter((line) => line !== '').map((line) => JSON.parse(line) as Record<string, unknown>)

/** Without what names the home. */
function portable(files: Record<string, string>): Record<string, string> {
  const { host: _, ...process } = (JSON.parse(files['proc-info.json'] ?? '{}') as { process: { host: string } }).process
  return { ...files, 'proc-info.json': JSON.stringify({ ...JSON.parse(files['proc-info.json'] ?? '{}') as object, process }) }
}

async function sound(daemon: LocalDaemon | undefined): Promise<void> {
  const { checks } = await at(daemon).client.get<{ checks: { name: string; ok: boolean; detail: string }[] }>('/v1/doctor', { verify: true })
  expect(checks.filter(({ name, ok }) => name.startsWith('store') && !ok)).toEqual([])
}

describe('an export', () => {
  test('has all that the process said and was told, in files for people and programs', async () => {
    const { uuid, pid } = await worker(here, 'docs')
    const dir = join(at(here).work, 'out')
    const done = await exporting(here, 'docs', dir)
    const files = filesOf(join(dir, 'steps', uuid))
    expect(readdirSync(join(dir, 'steps'))).toEqual([uuid])
    expect(Object.keys(files)).toEqual(['ctx-profile.json', 'events.jsonl', 'proc-info.json', 'process-meta.json', 'steps.jsonl'])
    expect(done).toEqual({ version: 1, uuid, pid, name: 'docs', dir: join(dir, 'steps', uuid), facts: linesOf(files['events.jsonl']).length, steps: 2, bytes: Object.values(files).join('').length })
    const [first, second] = linesOf(files['steps.jsonl'])
    expect(first).toMatchObject({ version: 1, step: 1, uuid, request: { messages: [{ role: 'user', from: 'user', text: 'find out' }], attempts: [{ attempt: 1 }] }, response: { message: [{ type: 'text', text: 'I look first.' }, { type: 'tool-call', name: 'bash', input: { command: 'echo from the tool' } }] } })
    expect(first?.['tools']).toMatchObject([{ role: 'tool', name: 'bash', outcome: 'ok', content: expect.stringContaining('from the tool') }])
    expect(second).toMatchObject({ step: 2, request: { messages: [] }, response: { message: [{ type: 'text', text: 'It is done.' }] } })
    expect(JSON.parse(files['proc-info.json'] ?? '')).toMatchObject({ version: 1, uuid, pid, origin: null, facts: done.facts, checkpoint: null, process: { uuid, name: 'docs', status: 'completed' } })
    expect(Date.parse((JSON.parse(files['proc-info.json'] ?? '') as { dead_at: string }).dead_at)).toBe(Date.parse((await at(here).view(uuid)).exitedAt ?? ''))
    expect(JSON.parse(files['process-meta.json'] ?? '')).toMatchObject({ version: 1, driver: 'native', intent: 'find out', tools: expect.arrayContaining([expect.objectContaining({ name: 'bash', schema: expect.any(Object) })]) })
    const profile = JSON.parse(files['ctx-profile.json'] ?? '') as { steps: object[]; estimated: Record<string, number> }
    expect(profile).toMatchObject({ version: 1, steps: [{ step: 1, estimated: { user: 2, reasoning: 0 } }, { step: 2 }] })
    expect(profile.estimated['result']).toBeGreaterThan(0)
  })

  test('refuses to write over anything, and says what is in the way', async () => {
    const { uuid } = await worker(here, 'docs')
    const dir = join(at(here).work, 'out')
    await exporting(here, uuid, dir)
    const before = filesOf(join(dir, 'steps', uuid))
    expect((await errorOf(exporting(here, uuid, dir))).code).toBe('CONFLICT')
    expect(filesOf(join(dir, 'steps', uuid))).toEqual(before)
    writeFileSync(join(at(here).work, 'file'), 'mine')
    expect((await errorOf(exporting(here, uuid, join(at(here).work, 'file')))).code).toBe('INVALID')
    mkdirSync(join(at(here).work, 'x/steps'), { recursive: true })
    symlinkSync('/nowhere', join(at(here).work, 'x/steps', uuid))
    expect((await errorOf(exporting(here, uuid, join(at(here).work, 'x')))).code).toBe('CONFLICT')
    expect((await errorOf(exporting(here, 'never-was', dir))).code).toBe('NOT_FOUND')
    expect((await errorOf(exporting(here, uuid, 'relative'))).code).toBe('INVALID')
  })

  test('of two at the same time to one place one is whole, and the other is refused', async () => {
    const { uuid } = await worker(here, 'docs')
    const dir = join(at(here).work, 'out')
    const both = await Promise.allSettled([exporting(here, uuid, dir), exporting(here, uuid, dir)])
    expect(both.map((one) => (one.status === 'fulfilled' ? 'ok' : (one.reason as ApiError).code)).toSorted()).toEqual(['CONFLICT', 'ok'])
    expect((await importing(there, dir)).processes).toMatchObject([{ uuid, warnings: [] }])
  })

  test('has the newest checkpoint with its messages written out', async () => {
    const items = Array.from({ length: 6 }, (_, index) => ({ text: `step ${index + 1}`, tools: [{ name: 'bash', input: { command: `echo ${index + 1}` } }] }))
    const { uuid } = await at(here).play([...items, { text: 'done' }], { intent: 'six steps' })
    await at(here).ended(uuid)
    const { dir } = await exporting(here, uuid, join(at(here).work, 'out'))
    const checkpoint = JSON.parse(filesOf(dir)['checkpoint.json'] ?? '') as { seq: number; step: number; ranges: number[][]; messages: { role: string; seq: number }[] }
    expect(checkpoint).toMatchObject({ version: 1, uuid, step: 5, ranges: [[1, checkpoint.seq - 1]] })
    const roles = ['user', ...Array.from({ length: 5 }, () => ['assistant', 'tool']).flat()]
    expect(checkpoint.messages.map(({ role }) => role).slice(0, roles.length)).toEqual(roles)
    expect(checkpoint.messages[0]).toMatchObject({ text: 'six steps' })
    expect(checkpoint.messages.every(({ seq }) => seq < checkpoint.seq)).toBe(true)
  })

  test('what a crash left beside it is cleared away by the next one', async () => {
    const { uuid } = await worker(here, 'docs')
    const dir = join(at(here).work, 'out')
    mkdirSync(join(dir, 'steps', `.${uuid}.tmp`), { recursive: true })
    writeFileSync(join(dir, 'steps', `.${uuid}.tmp`, 'events.jsonl'), 'half')
    await exporting(here, uuid, dir)
    expect(readdirSync(join(dir, 'steps'))).toEqual([uuid])
  })
})

describe('a process that was exported', () => {
  test('comes back in another home as it was, can be exported again byte for byte, and resumed', async () => {
    const view = await worker(here, 'docs')
    const [out, again] = [join(at(here).work, 'out'), join(at(there).work, 'again')]
    const { dir, facts } = await exporting(here, view.uuid, out)
    const { processes } = await importing(there, out)
    expect(processes).toEqual([{ uuid: view.uuid, pid: view.pid, name: 'docs', facts, dir, warnings: [] }])
    const { host: _h, ...shown } = await at(there).view('docs')
    const { host: _o, ...own } = view
    expect(shown).toEqual(own)
    await exporting(there, view.uuid, again)
    expect(portable(filesOf(join(again, 'steps', view.uuid)))).toEqual(portable(filesOf(dir)))
    expect((await at(there).client.get<{ steps: object[] }>(`/v1/processes/${view.uuid}/steps`)).steps).toEqual((await at(here).client.get<{ steps: object[] }>(`/v1/processes/${view.uuid}/steps`)).steps)
    // None of its numbers is given out again.
    expect((await at(there).sh('true')).pid).toBeGreaterThan(view.pid)
    await at(there).restart()
    await at(there).resume(view.uuid, { message: 'once more' })
    const ended = await at(there).ended(view.uuid)
    expect([ended.uuid, ended.turn]).toEqual([view.uuid, 2])
    await sound(there)
  })

  test('that is here already is refused; one that was removed here may come back', async () => {
    const { uuid } = await worker(here, 'docs')
    const out = join(at(here).work, 'out')
    await exporting(here, uuid, out)
    expect(await errorOf(importing(here, out))).toMatchObject({ code: 'CONFLICT', hint: expect.stringContaining('reeve rm') })
    await at(here).client.delete(`/v1/processes/${uuid}`)
    expect((await importing(here, out)).processes.map((one) => one.uuid)).toEqual([uuid])
    expect((await at(here).view('docs')).status).toBe('completed')
    expect((await errorOf(importing(here, out))).code).toBe('CONFLICT')
    await sound(here)
  })

  test('that lived is interrupted where it arrives, and goes on there', async () => {
    const { uuid } = await at(here).play([{ text: 'one' }, { text: 'two' }], { interactive: true, intent: 'talk', name: 'talker' })
    await at(here).ready(uuid)
    const out = join(at(here).work, 'out')
    await exporting(here, uuid, out)
    expect((await at(here).view(uuid)).status).toBe('ready')
    const { processes: [done] } = await importing(there, out)
    expect(done?.warnings).toEqual([expect.stringContaining('interrupted')])
    expect(await at(there).view(uuid)).toMatchObject({ status: 'interrupted', pid: done?.pid, children: [] })
    await at(there).resume(uuid, { message: 'and on' })
    expect((await at(there).ready(uuid)).turn).toBe(2)
    await at(there).signal(uuid, 'SIGKILL')
    await at(there).ended(uuid)
    await sound(there)
  })

  test('is one of several: the directory of all brings all', async () => {
    const views = [await worker(here, 'a'), await worker(here, 'b')]
    const out = join(at(here).work, 'out')
    for (const { uuid } of views) await exporting(here, uuid, out)
    rmSync(join(out, 'steps', views[1]?.uuid ?? '', 'steps.jsonl'))
    writeFileSync(join(out, 'steps', 'notes.txt'), 'mine')
    expect((await importing(there, out)).processes.map(({ uuid }) => uuid)).toEqual(views.map(({ uuid }) => uuid))
    expect((await errorOf(importing(there, join(out, 'nothing')))).code).toBe('INVALID')
    expect((await errorOf(importing(there, at(here).work))).message).toContain('has no steps/UUID')
    expect(existsSync(out)).toBe(true)
  })
})

describe('a fork', () => {
  const forked = async (ref: string, fromStep: number): Promise<ProcessView> => (await at(here).resume(ref, { fork: true, fromStep })).process

  test('comes with what it goes on from, of any depth, and goes on where its origin never was', async () => {
    const origin = await worker(here, 'origin')
    const child = await at(here).ended((await forked(origin.uuid, 1)).uuid)
    const { uuid } = await at(here).ended((await forked(child.uuid, 1)).uuid)
    const out = join(at(here).work, 'out')
    const { dir, facts } = await exporting(here, uuid, out)
    const events = linesOf(filesOf(dir)['events.jsonl'])
    expect(events.map(({ seq }) => seq)).toEqual(Array.from({ length: facts }, (_, index) => index + 1))
    expect([...new Set(events.map((event) => event['uuid']))]).toEqual([origin.uuid, uuid])
    expect(JSON.parse(filesOf(dir)['proc-info.json'] ?? '')).toMatchObject({ uuid, origin: { uuid: child.uuid, step: 1 } })
    await importing(there, out)
    await exporting(there, uuid, join(at(there).work, 'again'))
    expect(portable(filesOf(join(at(there).work, 'again', 'steps', uuid)))).toEqual(portable(filesOf(dir)))
    expect(await at(there).view(uuid)).toMatchObject({ originUuid: child.uuid, originStep: 1, status: 'completed' })
    expect((await errorOf(at(there).view(origin.uuid))).code).toBe('COLLECTED')
    const again = await at(there).ended((await at(there).resume(uuid, { fork: true, fromStep: 1 })).process.uuid)
    expect(again).toMatchObject({ status: 'completed', originUuid: uuid })
    await sound(there)
    // What it was forked from comes later, and is a process of its own.
    await exporting(here, origin.uuid, join(at(here).work, 'origin'))
    await importing(there, join(at(here).work, 'origin'))
    await at(there).client.delete(`/v1/processes/${uuid}`)
    expect((await at(there).view(origin.uuid)).status).toBe('completed')
    await at(there).resume(again.uuid, { message: 'on' })
    expect((await at(there).ended(again.uuid)).turn).toBe(2)
    await sound(there)
  }, 60_000)
})

describe('a worktree', () => {
  test('stays where it is when the copy of its process in another home is removed', async () => {
    const repository = Repository.make(join(at(here).work, 'repo'), at(here).work)
    repository.commit({ 'a.txt': 'a' })
    const { uuid } = await at(here).play([{ text: 'done' }], { cwd: repository.dir, worktree: true, name: 'apart' })
    const { worktree } = await at(here).ended(uuid)
    await exporting(here, uuid, join(at(here).work, 'out'))
    await importing(there, join(at(here).work, 'out'))
    await at(there).client.delete(`/v1/processes/${uuid}`)
    expect(readFileSync(join(worktree?.dir ?? '', 'a.txt'), 'utf8')).toBe('a')
    await at(here).resume(uuid, { message: 'again' })
    expect((await at(here).ended(uuid)).status).toBe('completed')
  })
})
