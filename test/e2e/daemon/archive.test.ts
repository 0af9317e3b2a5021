// Export and import through the API: an export's content, and its return unchanged, here and in another home, with byte-identical
// further exports. The tests include forks, living processes, and obstacles.
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { ApiError } from '../../../src/api/client/client.ts'
import type { ExportedView, ImportedView } from '../../../src/api/views/archive.ts'
import type { ProcessView } from '../../../src/api/views/process.ts'
import { LocalDaemon } from '../../support/daemon/local-daemon.ts'
import { Repository } from '../../support/crew/repository.ts'

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

const requireDaemon = (daemon: LocalDaemon | undefined): LocalDaemon => {
  if (daemon === undefined) throw new Error('no daemon')
  return daemon
}
const exportProcess = (daemon: LocalDaemon | undefined, ref: string, dir: string): Promise<ExportedView> =>
  requireDaemon(daemon).client.post(`/v1/processes/${ref}/export`, { dir })
const importProcess = (daemon: LocalDaemon | undefined, dir: string): Promise<ImportedView> =>
  requireDaemon(daemon).client.post('/v1/import', { dir })

async function errorOf(promise: Promise<unknown>): Promise<ApiError> {
  const error: unknown = await promise.then(
    (value) => new Error(`it did not fail: ${JSON.stringify(value)}`),
    (caught: unknown) => caught,
  )
  if (error instanceof ApiError) return error
  throw error
}

/** Two steps with a tool in the first one, and an end. */
async function runWorker(daemon: LocalDaemon | undefined, name: string): Promise<ProcessView> {
  const { uuid } = await requireDaemon(daemon).spawnScripted(
    [{ text: 'I look first.', tools: [{ name: 'bash', input: { command: 'echo from the tool' } }] }, { text: 'It is done.' }],
    { name, intent: 'find out' },
  )
  return requireDaemon(daemon).waitForEnd(uuid)
}

const filesOf = (dir: string): Record<string, string> =>
  Object.fromEntries(
    readdirSync(dir)
      .toSorted()
      .map((name) => [name, readFileSync(join(dir, name), 'utf8')]),
  )
const linesOf = (text = ''): Record<string, unknown>[] =>
  text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Record<string, unknown>)

/** The files without the parts that name the home. */
function withoutHomeNames(files: Record<string, string>): Record<string, string> {
  const { host: _, ...process } = (JSON.parse(files['proc-info.json'] ?? '{}') as { process: { host: string } }).process
  return { ...files, 'proc-info.json': JSON.stringify({ ...(JSON.parse(files['proc-info.json'] ?? '{}') as object), process }) }
}

async function checkStore(daemon: LocalDaemon | undefined): Promise<void> {
  const { checks } = await requireDaemon(daemon).client.get<{ checks: { name: string; ok: boolean; detail: string }[] }>('/v1/doctor', {
    verify: true,
  })
  expect(checks.filter(({ name, ok }) => name.startsWith('store') && !ok)).toEqual([])
}

describe('an export', () => {
  test('has all output and messages of the process, in files for people and programs', async () => {
    const { uuid, pid } = await runWorker(here, 'docs')
    const dir = join(requireDaemon(here).work, 'out')
    const done = await exportProcess(here, 'docs', dir)
    const files = filesOf(join(dir, 'steps', uuid))
    expect(readdirSync(join(dir, 'steps'))).toEqual([uuid])
    expect(Object.keys(files)).toEqual(['ctx-profile.json', 'events.jsonl', 'proc-info.json', 'process-meta.json', 'steps.jsonl'])
    expect(done).toEqual({
      version: 1,
      uuid,
      pid,
      name: 'docs',
      dir: join(dir, 'steps', uuid),
      facts: linesOf(files['events.jsonl']).length,
      steps: 2,
      bytes: Object.values(files).join('').length,
    })
    const [first, second] = linesOf(files['steps.jsonl'])
    expect(first).toMatchObject({
      version: 1,
      step: 1,
      uuid,
      request: { messages: [{ role: 'user', from: 'user', text: 'find out' }], attempts: [{ attempt: 1 }] },
      response: {
        message: [
          { type: 'text', text: 'I look first.' },
          { type: 'tool-call', name: 'bash', input: { command: 'echo from the tool' } },
        ],
      },
    })
    expect(first?.['tools']).toMatchObject([
      { role: 'tool', name: 'bash', outcome: 'ok', content: expect.stringContaining('from the tool') },
    ])
    expect(second).toMatchObject({ step: 2, request: { messages: [] }, response: { message: [{ type: 'text', text: 'It is done.' }] } })
    expect(JSON.parse(files['proc-info.json'] ?? '')).toMatchObject({
      version: 1,
      uuid,
      pid,
      origin: null,
      facts: done.facts,
      checkpoint: null,
      process: { uuid, name: 'docs', status: 'completed' },
    })
    expect(Date.parse((JSON.parse(files['proc-info.json'] ?? '') as { dead_at: string }).dead_at)).toBe(
      Date.parse((await requireDaemon(here).view(uuid)).exitedAt ?? ''),
    )
    expect(JSON.parse(files['process-meta.json'] ?? '')).toMatchObject({
      version: 1,
      driver: 'native',
      intent: 'find out',
      tools: expect.arrayContaining([expect.objectContaining({ name: 'bash', schema: expect.any(Object) })]),
    })
    const profile = JSON.parse(files['ctx-profile.json'] ?? '') as { steps: object[]; estimated: Record<string, number> }
    expect(profile).toMatchObject({ version: 1, steps: [{ step: 1, estimated: { user: 2, reasoning: 0 } }, { step: 2 }] })
    expect(profile.estimated['result']).toBeGreaterThan(0)
  })

  test('refuses to overwrite anything, and names the obstacle', async () => {
    const { uuid } = await runWorker(here, 'docs')
    const dir = join(requireDaemon(here).work, 'out')
    await exportProcess(here, uuid, dir)
    const before = filesOf(join(dir, 'steps', uuid))
    expect((await errorOf(exportProcess(here, uuid, dir))).code).toBe('CONFLICT')
    expect(filesOf(join(dir, 'steps', uuid))).toEqual(before)
    writeFileSync(join(requireDaemon(here).work, 'file'), 'mine')
    expect((await errorOf(exportProcess(here, uuid, join(requireDaemon(here).work, 'file')))).code).toBe('INVALID')
    mkdirSync(join(requireDaemon(here).work, 'x/steps'), { recursive: true })
    symlinkSync('/nowhere', join(requireDaemon(here).work, 'x/steps', uuid))
    expect((await errorOf(exportProcess(here, uuid, join(requireDaemon(here).work, 'x')))).code).toBe('CONFLICT')
    expect((await errorOf(exportProcess(here, 'never-was', dir))).code).toBe('NOT_FOUND')
    expect((await errorOf(exportProcess(here, uuid, 'relative'))).code).toBe('INVALID')
  })

  test('and another one to the same place: one is whole, and the other is refused', async () => {
    const { uuid } = await runWorker(here, 'docs')
    const dir = join(requireDaemon(here).work, 'out')
    const both = await Promise.allSettled([exportProcess(here, uuid, dir), exportProcess(here, uuid, dir)])
    expect(both.map((one) => (one.status === 'fulfilled' ? 'ok' : (one.reason as ApiError).code)).toSorted()).toEqual(['CONFLICT', 'ok'])
    expect((await importProcess(there, dir)).processes).toMatchObject([{ uuid, warnings: [] }])
  })

  test('has the newest checkpoint with its messages in full', async () => {
    const items = Array.from({ length: 6 }, (_, index) => ({
      text: `step ${index + 1}`,
      tools: [{ name: 'bash', input: { command: `echo ${index + 1}` } }],
    }))
    const { uuid } = await requireDaemon(here).spawnScripted([...items, { text: 'done' }], { intent: 'six steps' })
    await requireDaemon(here).waitForEnd(uuid)
    const { dir } = await exportProcess(here, uuid, join(requireDaemon(here).work, 'out'))
    const checkpoint = JSON.parse(filesOf(dir)['checkpoint.json'] ?? '') as {
      seq: number
      step: number
      ranges: number[][]
      messages: { role: string; seq: number }[]
    }
    expect(checkpoint).toMatchObject({ version: 1, uuid, step: 5, ranges: [[1, checkpoint.seq - 1]] })
    const roles = ['user', ...Array.from({ length: 5 }, () => ['assistant', 'tool']).flat()]
    expect(checkpoint.messages.map(({ role }) => role).slice(0, roles.length)).toEqual(roles)
    expect(checkpoint.messages[0]).toMatchObject({ text: 'six steps' })
    expect(checkpoint.messages.every(({ seq }) => seq < checkpoint.seq)).toBe(true)
  })

  test('removes the files that a crash left beside it', async () => {
    const { uuid } = await runWorker(here, 'docs')
    const dir = join(requireDaemon(here).work, 'out')
    mkdirSync(join(dir, 'steps', `.${uuid}.tmp`), { recursive: true })
    writeFileSync(join(dir, 'steps', `.${uuid}.tmp`, 'events.jsonl'), 'half')
    await exportProcess(here, uuid, dir)
    expect(readdirSync(join(dir, 'steps'))).toEqual([uuid])
  })
})

describe('an exported process', () => {
  test('returns unchanged in another home, can be exported again byte for byte, and resumed', async () => {
    const view = await runWorker(here, 'docs')
    const [out, again] = [join(requireDaemon(here).work, 'out'), join(requireDaemon(there).work, 'again')]
    const { dir, facts } = await exportProcess(here, view.uuid, out)
    const { processes } = await importProcess(there, out)
    expect(processes).toEqual([{ uuid: view.uuid, pid: view.pid, name: 'docs', facts, dir, warnings: [] }])
    const { host: _h, ...shown } = await requireDaemon(there).view('docs')
    const { host: _o, ...own } = view
    expect(shown).toEqual(own)
    await exportProcess(there, view.uuid, again)
    expect(withoutHomeNames(filesOf(join(again, 'steps', view.uuid)))).toEqual(withoutHomeNames(filesOf(dir)))
    expect((await requireDaemon(there).client.get<{ steps: object[] }>(`/v1/processes/${view.uuid}/steps`)).steps).toEqual(
      (await requireDaemon(here).client.get<{ steps: object[] }>(`/v1/processes/${view.uuid}/steps`)).steps,
    )
    // The process's PIDs are not reused.
    expect((await requireDaemon(there).spawnShell('true')).pid).toBeGreaterThan(view.pid)
    await requireDaemon(there).restart()
    await requireDaemon(there).resume(view.uuid, { message: 'once more' })
    const ended = await requireDaemon(there).waitForEnd(view.uuid)
    expect([ended.uuid, ended.turn]).toEqual([view.uuid, 2])
    await checkStore(there)
  })

  test('that already exists here is refused; a removed one may return', async () => {
    const { uuid } = await runWorker(here, 'docs')
    const out = join(requireDaemon(here).work, 'out')
    await exportProcess(here, uuid, out)
    expect(await errorOf(importProcess(here, out))).toMatchObject({ code: 'CONFLICT', hint: expect.stringContaining('reeve rm') })
    await requireDaemon(here).client.delete(`/v1/processes/${uuid}`)
    expect((await importProcess(here, out)).processes.map((one) => one.uuid)).toEqual([uuid])
    expect((await requireDaemon(here).view('docs')).status).toBe('completed')
    expect((await errorOf(importProcess(here, out))).code).toBe('CONFLICT')
    await checkStore(here)
  })

  test('that was alive is interrupted after its import, and can be resumed there', async () => {
    const { uuid } = await requireDaemon(here).spawnScripted([{ text: 'one' }, { text: 'two' }], {
      interactive: true,
      intent: 'talk',
      name: 'talker',
    })
    await requireDaemon(here).waitUntilReady(uuid)
    const out = join(requireDaemon(here).work, 'out')
    await exportProcess(here, uuid, out)
    expect((await requireDaemon(here).view(uuid)).status).toBe('ready')
    const {
      processes: [done],
    } = await importProcess(there, out)
    expect(done?.warnings).toEqual([expect.stringContaining('interrupted')])
    expect(await requireDaemon(there).view(uuid)).toMatchObject({ status: 'interrupted', pid: done?.pid, children: [] })
    await requireDaemon(there).resume(uuid, { message: 'and on' })
    expect((await requireDaemon(there).waitUntilReady(uuid)).turn).toBe(2)
    await requireDaemon(there).signal(uuid, 'SIGKILL')
    await requireDaemon(there).waitForEnd(uuid)
    await checkStore(there)
  })

  test('is one of several: the parent directory imports all', async () => {
    const views = [await runWorker(here, 'a'), await runWorker(here, 'b')]
    const out = join(requireDaemon(here).work, 'out')
    for (const { uuid } of views) await exportProcess(here, uuid, out)
    rmSync(join(out, 'steps', views[1]?.uuid ?? '', 'steps.jsonl'))
    writeFileSync(join(out, 'steps', 'notes.txt'), 'mine')
    expect((await importProcess(there, out)).processes.map(({ uuid }) => uuid)).toEqual(views.map(({ uuid }) => uuid))
    expect((await errorOf(importProcess(there, join(out, 'nothing')))).code).toBe('INVALID')
    expect((await errorOf(importProcess(there, requireDaemon(here).work))).message).toContain('has no steps/UUID')
    expect(existsSync(out)).toBe(true)
  })
})

describe('a fork', () => {
  const forked = async (ref: string, fromStep: number): Promise<ProcessView> =>
    (await requireDaemon(here).resume(ref, { fork: true, fromStep })).process

  test('is imported with the history that it needs, at any depth, and continues without its origin', async () => {
    const origin = await runWorker(here, 'origin')
    const child = await requireDaemon(here).waitForEnd((await forked(origin.uuid, 1)).uuid)
    const { uuid } = await requireDaemon(here).waitForEnd((await forked(child.uuid, 1)).uuid)
    const out = join(requireDaemon(here).work, 'out')
    const { dir, facts } = await exportProcess(here, uuid, out)
    const events = linesOf(filesOf(dir)['events.jsonl'])
    expect(events.map(({ seq }) => seq)).toEqual(Array.from({ length: facts }, (_, index) => index + 1))
    expect([...new Set(events.map((event) => event['uuid']))]).toEqual([origin.uuid, uuid])
    expect(JSON.parse(filesOf(dir)['proc-info.json'] ?? '')).toMatchObject({ uuid, origin: { uuid: child.uuid, step: 1 } })
    await importProcess(there, out)
    await exportProcess(there, uuid, join(requireDaemon(there).work, 'again'))
    expect(withoutHomeNames(filesOf(join(requireDaemon(there).work, 'again', 'steps', uuid)))).toEqual(withoutHomeNames(filesOf(dir)))
    expect(await requireDaemon(there).view(uuid)).toMatchObject({ originUuid: child.uuid, originStep: 1, status: 'completed' })
    expect((await errorOf(requireDaemon(there).view(origin.uuid))).code).toBe('COLLECTED')
    const again = await requireDaemon(there).waitForEnd((await requireDaemon(there).resume(uuid, { fork: true, fromStep: 1 })).process.uuid)
    expect(again).toMatchObject({ status: 'completed', originUuid: uuid })
    await checkStore(there)
    // The origin comes later, as a process of its own.
    await exportProcess(here, origin.uuid, join(requireDaemon(here).work, 'origin'))
    await importProcess(there, join(requireDaemon(here).work, 'origin'))
    await requireDaemon(there).client.delete(`/v1/processes/${uuid}`)
    expect((await requireDaemon(there).view(origin.uuid)).status).toBe('completed')
    await requireDaemon(there).resume(again.uuid, { message: 'on' })
    expect((await requireDaemon(there).waitForEnd(again.uuid)).turn).toBe(2)
    await checkStore(there)
  })
})

describe('a worktree', () => {
  test('stays when the copy of its process in another home is removed', async () => {
    const repository = Repository.make(join(requireDaemon(here).work, 'repo'), requireDaemon(here).work)
    repository.commit({ 'a.txt': 'a' })
    const { uuid } = await requireDaemon(here).spawnScripted([{ text: 'done' }], { cwd: repository.dir, worktree: true, name: 'apart' })
    const { worktree } = await requireDaemon(here).waitForEnd(uuid)
    await exportProcess(here, uuid, join(requireDaemon(here).work, 'out'))
    await importProcess(there, join(requireDaemon(here).work, 'out'))
    await requireDaemon(there).client.delete(`/v1/processes/${uuid}`)
    expect(readFileSync(join(worktree?.dir ?? '', 'a.txt'), 'utf8')).toBe('a')
    await requireDaemon(here).resume(uuid, { message: 'again' })
    expect((await requireDaemon(here).waitForEnd(uuid)).status).toBe('completed')
  })
})
