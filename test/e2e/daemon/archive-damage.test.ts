// Damaged exports. Some are imported with a warning. The others are refused with the place of the damage, and nothing of them stays.
import { appendFileSync, cpSync, mkdirSync, readFileSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ApiError } from '../../../src/api/client/api-error.ts'
import type { ExportedView, ImportedView } from '../../../src/api/views/archive.ts'
import { factOf, lineOf } from '../../../src/daemon/archive/event-lines.ts'
import type { Fact } from '../../../src/kernel/model/facts.ts'
import { LocalDaemon } from '../../support/daemon/local-daemon.ts'

let daemon: LocalDaemon
let intactDir = ''
let uuid = ''
let facts = 0
let copies = 0

beforeAll(async () => {
  daemon = await LocalDaemon.start()
  const items = Array.from({ length: 7 }, (_, index) => ({
    text: `step ${index + 1}`,
    tools: [{ name: 'bash', input: { command: `echo ${index}` } }],
  }))
  uuid = (await daemon.spawnScripted([...items, { text: 'done' }], { name: 'whole', intent: 'go' })).uuid
  await daemon.waitForEnd(uuid)
  const exported = await daemon.client.post<ExportedView>(`/v1/processes/${uuid}/export`, { dir: join(daemon.work, 'good') })
  intactDir = exported.dir
  facts = exported.facts
  await daemon.client.delete(`/v1/processes/${uuid}`)
})
afterAll(async () => {
  await daemon[Symbol.asyncDispose]()
  expect(daemon.errors).toEqual([])
})

/** Copies the export, so that a test can damage the copy. */
function copy(): string {
  const dir = join(daemon.work, `copy-${++copies}`, uuid)
  mkdirSync(dir, { recursive: true })
  cpSync(intactDir, dir, { recursive: true })
  return dir
}

const importArchive = (dir: string): Promise<ImportedView> => daemon.client.post('/v1/import', { dir })
const editFile = (file: string, edit: (text: string) => string): void => writeFileSync(file, edit(readFileSync(file, 'utf8')))
const linesIn = (text: string): string[] => text.split('\n').slice(0, -1)
const joinLines = (lines: readonly string[]): string => lines.map((line) => `${line}\n`).join('')
/** The byte offset of a line. */
const offsetOf = (number: number): number =>
  Buffer.byteLength(joinLines(linesIn(readFileSync(join(intactDir, 'events.jsonl'), 'utf8')).slice(0, number - 1)))

async function importError(dir: string): Promise<ApiError> {
  const error: unknown = await importArchive(dir).then(
    (value) => new Error(`it did not fail: ${JSON.stringify(value)}`),
    (reason: unknown) => reason,
  )
  if (error instanceof ApiError) return error
  throw error
}

async function expectGone(): Promise<void> {
  await expect(daemon.view(uuid)).rejects.toMatchObject({ code: 'COLLECTED' })
  const { checks } = await daemon.client.get<{ checks: { name: string; ok: boolean }[] }>('/v1/doctor', { verify: true })
  expect(checks.filter(({ name, ok }) => name.startsWith('store') && !ok)).toEqual([])
}

describe('is imported with a warning', () => {
  test.each<[string, (dir: string) => void, (warning: string) => void, number]>([
    [
      'the last line is torn',
      (dir) => editFile(join(dir, 'events.jsonl'), (text) => text.slice(0, -20)),
      (warning) =>
        expect(warning).toBe(`events.jsonl ends in the middle of line ${facts} (byte ${offsetOf(facts)}): the last fact is lost`),
      1,
    ],
    [
      'the last newline is gone',
      (dir) => editFile(join(dir, 'events.jsonl'), (text) => text.slice(0, -1)),
      (warning) => expect(warning).toBe(`events.jsonl ends in the middle of line ${facts} (byte ${offsetOf(facts)})`),
      0,
    ],
    [
      'many lines are lost after a torn one',
      (dir) => editFile(join(dir, 'events.jsonl'), (text) => joinLines(linesIn(text).slice(0, 20)) + linesIn(text)[20]?.slice(0, 30)),
      (warning) => expect(warning).toContain(`line 21 (byte ${offsetOf(21)}): the last ${facts - 20} facts are lost`),
      facts - 20,
    ],
    [
      'checkpoint.json is longer than the limit',
      (dir) => truncateSync(join(dir, 'checkpoint.json'), 65 * 2 ** 20),
      (warning) => expect(warning).toContain('checkpoint.json is too long to be checked'),
      0,
    ],
    [
      'checkpoint.json is missing',
      (dir) => rmSync(join(dir, 'checkpoint.json')),
      (warning) => expect(warning).toContain('checkpoint.json is missing'),
      0,
    ],
  ])('%s', async (_description, damage, checkWarning, lostFacts) => {
    const dir = copy()
    damage(dir)
    const {
      processes: [done],
    } = await importArchive(dir)
    checkWarning(done?.warnings[0] ?? '')
    // An unfinished process becomes interrupted, by one fact or two.
    const view = await daemon.view(uuid)
    expect([view.state, done?.facts]).toEqual(['dead', lostFacts === 0 ? facts : expect.any(Number)])
    if (lostFacts > 0) expect(done?.warnings[1]).toContain('had not ended')
    if (lostFacts > 1) expect(view.status).toBe('interrupted')
    await daemon.client.delete(`/v1/processes/${uuid}`)
    await expectGone()
  })

  test('an export without steps.jsonl, ctx-profile.json and process-meta.json is imported without a warning', async () => {
    const dir = copy()
    for (const file of ['steps.jsonl', 'ctx-profile.json', 'process-meta.json']) rmSync(join(dir, file))
    expect((await importArchive(dir)).processes[0]?.warnings).toEqual([])
    await daemon.client.delete(`/v1/processes/${uuid}`)
  })
})

test('a checkpoint of 17 MB, as with many images, is imported without a warning', async () => {
  const dir = copy()
  appendFileSync(join(dir, 'checkpoint.json'), ' '.repeat(17 * 2 ** 20))
  expect((await importArchive(dir)).processes[0]?.warnings).toEqual([])
  await daemon.client.delete(`/v1/processes/${uuid}`)
})

describe('is refused, with the place', () => {
  const events =
    (edit: (lines: string[]) => string[]) =>
    (dir: string): void =>
      editFile(join(dir, 'events.jsonl'), (text) => joinLines(edit(linesIn(text))))

  test.each<[string, string, (dir: string) => void, number | null, RegExp]>([
    [
      'a letter has changed',
      'events.jsonl',
      events((lines) => lines.with(11, (lines[11] ?? '').replace('"seq"', '"sEq"'))),
      12,
      /its checksum does not match/,
    ],
    ['a line is missing', 'events.jsonl', events((lines) => lines.toSpliced(9, 1)), 10, /fact 11 cannot follow 9/],
    ['a line is repeated', 'events.jsonl', events((lines) => lines.toSpliced(9, 0, lines[9] ?? '')), 11, /fact 10 cannot follow 10/],
    [
      'two lines have changed places',
      'events.jsonl',
      events((lines) => lines.with(4, lines[5] ?? '').with(5, lines[4] ?? '')),
      5,
      /fact 6 cannot follow 4/,
    ],
    ['a line is empty', 'events.jsonl', events((lines) => lines.toSpliced(3, 0, '')), 4, /no checksum/],
    ['the first line is missing', 'events.jsonl', events((lines) => lines.slice(1)), 1, /fact 2 cannot follow 0/],
    [
      'the file ends too early, with a whole line',
      'events.jsonl',
      events((lines) => lines.slice(0, -3)),
      -3,
      /it ends with fact \d+, but proc-info.json counts \d+/,
    ],
    [
      'the file has additional lines',
      'proc-info.json',
      (dir) => editFile(join(dir, 'proc-info.json'), (text) => text.replace(`"facts": ${facts}`, `"facts": ${facts - 2}`)),
      facts - 1,
      /but proc-info.json counts/,
    ],
    ['the file is empty', 'events.jsonl', (dir) => writeFileSync(join(dir, 'events.jsonl'), ''), null, /it has no facts/],
    ['the file is missing', 'events.jsonl', (dir) => rmSync(join(dir, 'events.jsonl')), null, /it is missing/],
    [
      'the file is a directory',
      'events.jsonl',
      (dir) => {
        rmSync(join(dir, 'events.jsonl'))
        mkdirSync(join(dir, 'events.jsonl'))
      },
      null,
      /not a regular file|cannot be read/,
    ],
    [
      'the file is a device',
      'events.jsonl',
      (dir) => {
        rmSync(join(dir, 'events.jsonl'))
        symlinkSync('/dev/zero', join(dir, 'events.jsonl'))
      },
      null,
      /not a regular file/,
    ],
    ['proc-info.json is missing', 'proc-info.json', (dir) => rmSync(join(dir, 'proc-info.json')), null, /it is missing/],
    [
      'proc-info.json is torn',
      'proc-info.json',
      (dir) => editFile(join(dir, 'proc-info.json'), (text) => text.slice(0, 100)),
      6,
      /not valid JSON/,
    ],
    [
      'proc-info.json is of another process',
      'proc-info.json',
      (dir) =>
        editFile(join(dir, 'proc-info.json'), (text) =>
          text.replaceAll(
            uuid,
            uuid.replace(/.$/, (digit) => (digit === '0' ? '1' : '0')),
          ),
        ),
      null,
      /it belongs to/,
    ],
    [
      'checkpoint.json is damaged',
      'checkpoint.json',
      (dir) => editFile(join(dir, 'checkpoint.json'), (text) => text.replace('"messages"', '"messages')),
      1,
      /not valid JSON/,
    ],
  ])('%s', async (_description, file, damage, line, message) => {
    const dir = copy()
    damage(dir)
    const error = await importError(dir)
    expect([error.code, error.message]).toEqual(['INVALID', expect.stringMatching(message)])
    const expectedLine = line === null ? null : line < 0 ? facts + line : line
    if (expectedLine !== null && message.source.includes('JSON'))
      expect(error.details).toMatchObject({ file: join(dir, file), line: expect.any(Number), byte: expect.any(Number) })
    else if (expectedLine !== null) expect(error.details).toMatchObject({ line: expectedLine, byte: expect.any(Number) })
    else expect(error.message).toContain(file)
    if (line === 12) expect(error.message).toContain(`events.jsonl, line 12 (byte ${offsetOf(12)})`)
    await expectGone()
  })

  const changeFacts = (change: (fact: Fact, body: Record<string, unknown>) => void): ((dir: string) => void) =>
    events((lines) =>
      lines.map((line) => {
        const fact = structuredClone(factOf(Buffer.from(line))) as Fact
        change(fact, fact.body)
        return lineOf(fact)
      }),
    )

  test.each<[string, (fact: Fact, body: Record<string, unknown>) => void, RegExp]>([
    [
      'a spec without a directory',
      ({ seq }, body) => {
        if (seq === 1) body['spec'] = { ...(body['spec'] as object), cwd: 5 }
      },
      /line 1 .*its spec cannot be used: cwd must be a text/,
    ],
    [
      'a spec of an unknown driver',
      ({ seq }, body) => {
        if (seq === 1) body['spec'] = { ...(body['spec'] as object), driver: 'robot' }
      },
      /its spec cannot be used: driver must be one of/,
    ],
    [
      'a worktree in another folder',
      ({ seq }, body) => {
        if (seq === 1) body['spec'] = { ...(body['spec'] as object), worktree: { repository: '/r', dir: '', branch: 'b', base: 'b' } }
      },
      /its spec cannot be used: worktree.dir .*absolute path/,
    ],
    [
      'a text that is a list',
      (_fact, body) => {
        if (body['type'] === 'model.finished') body['message'] = [{ type: 'text', text: [] }]
      },
      /it is not a valid model.finished: message.0.text must be a text/,
    ],
    [
      'an invalid time',
      (_fact, body) => {
        if (body['type'] === 'model.finished') body['durationMs'] = {}
      },
      /it is not a valid model.finished: durationMs must be a number/,
    ],
    [
      'a duration beyond the calendar',
      (_fact, body) => {
        if (body['type'] === 'model.finished') body['durationMs'] = 1e300
      },
      /durationMs must be at most 1000000000000000/,
    ],
    [
      'a time at the end of the calendar',
      (fact) => {
        Object.assign(fact, { at: 8.64e15 })
      },
      /its time is not plausible/,
    ],
    [
      'a PID that would use up the counter',
      (fact, body) => {
        Object.assign(fact, { pid: 2 ** 50 })
        if ('pid' in body) body['pid'] = 2 ** 50
      },
      /PID or UUID is not valid/,
    ],
    [
      'another process in the middle',
      (fact) => {
        if (fact.seq === 9) Object.assign(fact, { uuid: '01a1f9fc-367e-76d0-95fe-47b331dd2fe5' })
      },
      /line 9 .*a fact of 01a1f9fc.* cannot follow one of/,
    ],
    [
      'a process that is its own parent',
      ({ seq }, body) => {
        if (seq === 1) body['parentUuid'] = uuid
      },
      /it is its own ancestor/,
    ],
    [
      'a supervisor without a strategy',
      ({ seq }, body) => {
        if (seq === 1) body['spec'] = { ...(body['spec'] as object), driver: 'supervisor' }
      },
      /a supervisor needs its settings/,
    ],
    [
      'an end in the middle',
      ({ seq }, body) => {
        if (seq === 9) Object.assign(body, { type: 'process.reaped' })
      },
      /line (9|10) /,
    ],
  ])('with matching checksums: %s', async (_description, change, message) => {
    const dir = copy()
    changeFacts((fact, body) => {
      change(fact, body)
      if (body['type'] === 'process.reaped') for (const key of Object.keys(body)) if (key !== 'type') delete body[key]
    })(dir)
    const error = await importError(dir)
    expect([error.code, error.message]).toEqual(['INVALID', expect.stringMatching(message)])
    await expectGone()
  })

  test('afterwards the intact export is imported', async () => {
    expect((await importArchive(intactDir)).processes).toMatchObject([{ uuid, facts, warnings: [] }])
    expect((await daemon.view('whole')).step).toBe(8)
    await daemon.client.delete(`/v1/processes/${uuid}`)
  })

  test('one of two concurrent imports of a process is refused', async () => {
    const importResults = await Promise.allSettled([importArchive(intactDir), importArchive(intactDir)])
    const codes = importResults.map((one) => (one.status === 'fulfilled' ? 'ok' : (one.reason as ApiError).code))
    expect(codes.toSorted()).toEqual(['CONFLICT', 'ok'])
    await daemon.client.delete(`/v1/processes/${uuid}`)
    await expectGone()
  })
})
