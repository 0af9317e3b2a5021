// Export and import through the API. The tests check an export's content, and its return unchanged, here and in another home, with
// byte-identical further exports. The tests include forks, living processes, and obstacles.
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { ApiError } from '../../../src/api/client/api-error.ts'
import type { ExportedView, ImportedView } from '../../../src/api/views/archive.ts'
import type { ProcessView } from '../../../src/api/views/process.ts'
import { LocalDaemon } from '../../support/daemon/local-daemon.ts'
import { Repository } from '../../support/git/repository.ts'

let [home, otherHome]: LocalDaemon[] = []
let daemons: LocalDaemon[] = []
beforeEach(async () => {
  daemons = await Promise.all([LocalDaemon.start(), LocalDaemon.start()])
  ;[home, otherHome] = daemons
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
    (reason: unknown) => reason,
  )
  if (error instanceof ApiError) return error
  throw error
}

/** Runs a process of two steps, the first with a tool, to its end. */
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

/** Returns the files without the parts that name the home. */
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
  test('has all output and messages of the process, in files for readers and for programs', async () => {
    const { uuid, pid } = await runWorker(home, 'docs')
    const dir = join(requireDaemon(home).work, 'out')
    const exported = await exportProcess(home, 'docs', dir)
    const files = filesOf(join(dir, 'steps', uuid))
    expect(readdirSync(join(dir, 'steps'))).toEqual([uuid])
    expect(Object.keys(files)).toEqual(['ctx-profile.json', 'events.jsonl', 'proc-info.json', 'process-meta.json', 'steps.jsonl'])
    expect(exported).toEqual({
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
      facts: exported.facts,
      checkpoint: null,
      process: { uuid, name: 'docs', status: 'completed' },
    })
    expect(Date.parse((JSON.parse(files['proc-info.json'] ?? '') as { dead_at: string }).dead_at)).toBe(
      Date.parse((await requireDaemon(home).view(uuid)).exitedAt ?? ''),
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
    const { uuid } = await runWorker(home, 'docs')
    const dir = join(requireDaemon(home).work, 'out')
    await exportProcess(home, uuid, dir)
    const filesBefore = filesOf(join(dir, 'steps', uuid))
    expect((await errorOf(exportProcess(home, uuid, dir))).code).toBe('CONFLICT')
    expect(filesOf(join(dir, 'steps', uuid))).toEqual(filesBefore)
    writeFileSync(join(requireDaemon(home).work, 'file'), 'mine')
    expect((await errorOf(exportProcess(home, uuid, join(requireDaemon(home).work, 'file')))).code).toBe('INVALID')
    mkdirSync(join(requireDaemon(home).work, 'x/steps'), { recursive: true })
    symlinkSync('/nowhere', join(requireDaemon(home).work, 'x/steps', uuid))
    expect((await errorOf(exportProcess(home, uuid, join(requireDaemon(home).work, 'x')))).code).toBe('CONFLICT')
    expect((await errorOf(exportProcess(home, 'never-was', dir))).code).toBe('NOT_FOUND')
    expect((await errorOf(exportProcess(home, uuid, 'relative'))).code).toBe('INVALID')
  })

  test('is whole, and a concurrent export to the same folder is refused', async () => {
    const { uuid } = await runWorker(home, 'docs')
    const dir = join(requireDaemon(home).work, 'out')
    const exportResults = await Promise.allSettled([exportProcess(home, uuid, dir), exportProcess(home, uuid, dir)])
    expect(exportResults.map((one) => (one.status === 'fulfilled' ? 'ok' : (one.reason as ApiError).code)).toSorted()).toEqual([
      'CONFLICT',
      'ok',
    ])
    expect((await importProcess(otherHome, dir)).processes).toMatchObject([{ uuid, warnings: [] }])
  })

  test('has the newest checkpoint with its messages in full', async () => {
    const items = Array.from({ length: 6 }, (_, index) => ({
      text: `step ${index + 1}`,
      tools: [{ name: 'bash', input: { command: `echo ${index + 1}` } }],
    }))
    const { uuid } = await requireDaemon(home).spawnScripted([...items, { text: 'done' }], { intent: 'six steps' })
    await requireDaemon(home).waitForEnd(uuid)
    const { dir } = await exportProcess(home, uuid, join(requireDaemon(home).work, 'out'))
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
    const { uuid } = await runWorker(home, 'docs')
    const dir = join(requireDaemon(home).work, 'out')
    mkdirSync(join(dir, 'steps', `.${uuid}.tmp`), { recursive: true })
    writeFileSync(join(dir, 'steps', `.${uuid}.tmp`, 'events.jsonl'), 'half')
    await exportProcess(home, uuid, dir)
    expect(readdirSync(join(dir, 'steps'))).toEqual([uuid])
  })
})

describe('an exported process', () => {
  test('returns unchanged in another home, can be exported again byte for byte, and resumed', async () => {
    const view = await runWorker(home, 'docs')
    const [exportDir, secondExportDir] = [join(requireDaemon(home).work, 'out'), join(requireDaemon(otherHome).work, 'again')]
    const { dir, facts } = await exportProcess(home, view.uuid, exportDir)
    const { processes } = await importProcess(otherHome, exportDir)
    expect(processes).toEqual([{ uuid: view.uuid, pid: view.pid, name: 'docs', facts, dir, warnings: [] }])
    const { host: _h, ...shown } = await requireDaemon(otherHome).view('docs')
    const { host: _o, ...own } = view
    expect(shown).toEqual(own)
    await exportProcess(otherHome, view.uuid, secondExportDir)
    expect(withoutHomeNames(filesOf(join(secondExportDir, 'steps', view.uuid)))).toEqual(withoutHomeNames(filesOf(dir)))
    expect((await requireDaemon(otherHome).client.get<{ steps: object[] }>(`/v1/processes/${view.uuid}/steps`)).steps).toEqual(
      (await requireDaemon(home).client.get<{ steps: object[] }>(`/v1/processes/${view.uuid}/steps`)).steps,
    )
    // The process's PIDs are not reused.
    expect((await requireDaemon(otherHome).spawnShell('true')).pid).toBeGreaterThan(view.pid)
    await requireDaemon(otherHome).restart()
    await requireDaemon(otherHome).resume(view.uuid, { message: 'once more' })
    const endedView = await requireDaemon(otherHome).waitForEnd(view.uuid)
    expect([endedView.uuid, endedView.turn]).toEqual([view.uuid, 2])
    await checkStore(otherHome)
  })

  test('that already exists here is refused, and can be imported after its removal', async () => {
    const { uuid } = await runWorker(home, 'docs')
    const exportDir = join(requireDaemon(home).work, 'out')
    await exportProcess(home, uuid, exportDir)
    expect(await errorOf(importProcess(home, exportDir))).toMatchObject({ code: 'CONFLICT', hint: expect.stringContaining('reeve rm') })
    await requireDaemon(home).client.delete(`/v1/processes/${uuid}`)
    expect((await importProcess(home, exportDir)).processes.map((one) => one.uuid)).toEqual([uuid])
    expect((await requireDaemon(home).view('docs')).status).toBe('completed')
    expect((await errorOf(importProcess(home, exportDir))).code).toBe('CONFLICT')
    await checkStore(home)
  })

  test('that was alive is interrupted after its import, and can be resumed there', async () => {
    const { uuid } = await requireDaemon(home).spawnScripted([{ text: 'one' }, { text: 'two' }], {
      interactive: true,
      intent: 'talk',
      name: 'talker',
    })
    await requireDaemon(home).waitUntilReady(uuid)
    const exportDir = join(requireDaemon(home).work, 'out')
    await exportProcess(home, uuid, exportDir)
    expect((await requireDaemon(home).view(uuid)).status).toBe('ready')
    const {
      processes: [done],
    } = await importProcess(otherHome, exportDir)
    expect(done?.warnings).toEqual([expect.stringContaining('interrupted')])
    expect(await requireDaemon(otherHome).view(uuid)).toMatchObject({ status: 'interrupted', pid: done?.pid, children: [] })
    await requireDaemon(otherHome).resume(uuid, { message: 'and on' })
    expect((await requireDaemon(otherHome).waitUntilReady(uuid)).turn).toBe(2)
    await requireDaemon(otherHome).signal(uuid, 'SIGKILL')
    await requireDaemon(otherHome).waitForEnd(uuid)
    await checkStore(otherHome)
  })

  test('is imported with all others in its parent directory', async () => {
    const views = [await runWorker(home, 'a'), await runWorker(home, 'b')]
    const exportDir = join(requireDaemon(home).work, 'out')
    for (const { uuid } of views) await exportProcess(home, uuid, exportDir)
    rmSync(join(exportDir, 'steps', views[1]?.uuid ?? '', 'steps.jsonl'))
    writeFileSync(join(exportDir, 'steps', 'notes.txt'), 'mine')
    expect((await importProcess(otherHome, exportDir)).processes.map(({ uuid }) => uuid)).toEqual(views.map(({ uuid }) => uuid))
    expect((await errorOf(importProcess(otherHome, join(exportDir, 'nothing')))).code).toBe('INVALID')
    expect((await errorOf(importProcess(otherHome, requireDaemon(home).work))).message).toContain('has no steps/UUID')
    expect(existsSync(exportDir)).toBe(true)
  })
})

describe('a fork', () => {
  const forkAt = async (ref: string, fromStep: number): Promise<ProcessView> =>
    (await requireDaemon(home).resume(ref, { fork: true, fromStep })).process

  test('is imported with the history that it needs, at any depth, and continues without its origin', async () => {
    const origin = await runWorker(home, 'origin')
    const child = await requireDaemon(home).waitForEnd((await forkAt(origin.uuid, 1)).uuid)
    const { uuid } = await requireDaemon(home).waitForEnd((await forkAt(child.uuid, 1)).uuid)
    const exportDir = join(requireDaemon(home).work, 'out')
    const { dir, facts } = await exportProcess(home, uuid, exportDir)
    const events = linesOf(filesOf(dir)['events.jsonl'])
    expect(events.map(({ seq }) => seq)).toEqual(Array.from({ length: facts }, (_, index) => index + 1))
    expect([...new Set(events.map((event) => event['uuid']))]).toEqual([origin.uuid, uuid])
    expect(JSON.parse(filesOf(dir)['proc-info.json'] ?? '')).toMatchObject({ uuid, origin: { uuid: child.uuid, step: 1 } })
    await importProcess(otherHome, exportDir)
    await exportProcess(otherHome, uuid, join(requireDaemon(otherHome).work, 'again'))
    expect(withoutHomeNames(filesOf(join(requireDaemon(otherHome).work, 'again', 'steps', uuid)))).toEqual(withoutHomeNames(filesOf(dir)))
    expect(await requireDaemon(otherHome).view(uuid)).toMatchObject({ originUuid: child.uuid, originStep: 1, status: 'completed' })
    expect((await errorOf(requireDaemon(otherHome).view(origin.uuid))).code).toBe('COLLECTED')
    const forkView = await requireDaemon(otherHome).waitForEnd(
      (await requireDaemon(otherHome).resume(uuid, { fork: true, fromStep: 1 })).process.uuid,
    )
    expect(forkView).toMatchObject({ status: 'completed', originUuid: uuid })
    await checkStore(otherHome)
    // The origin comes later, as a process of its own.
    await exportProcess(home, origin.uuid, join(requireDaemon(home).work, 'origin'))
    await importProcess(otherHome, join(requireDaemon(home).work, 'origin'))
    await requireDaemon(otherHome).client.delete(`/v1/processes/${uuid}`)
    expect((await requireDaemon(otherHome).view(origin.uuid)).status).toBe('completed')
    await requireDaemon(otherHome).resume(forkView.uuid, { message: 'on' })
    expect((await requireDaemon(otherHome).waitForEnd(forkView.uuid)).turn).toBe(2)
    await checkStore(otherHome)
  })
})

describe('a worktree', () => {
  test('stays when the copy of its process in another home is removed', async () => {
    const repository = Repository.make(join(requireDaemon(home).work, 'repo'), requireDaemon(home).work)
    repository.commit({ 'a.txt': 'a' })
    const { uuid } = await requireDaemon(home).spawnScripted([{ text: 'done' }], { cwd: repository.dir, worktree: true, name: 'apart' })
    const { worktree } = await requireDaemon(home).waitForEnd(uuid)
    await exportProcess(home, uuid, join(requireDaemon(home).work, 'out'))
    await importProcess(otherHome, join(requireDaemon(home).work, 'out'))
    await requireDaemon(otherHome).client.delete(`/v1/processes/${uuid}`)
    expect(readFileSync(join(worktree?.dir ?? '', 'a.txt'), 'utf8')).toBe('a')
    await requireDaemon(home).resume(uuid, { message: 'again' })
    expect((await requireDaemon(home).waitForEnd(uuid)).status).toBe('completed')
  })
})
