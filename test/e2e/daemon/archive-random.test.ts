// Random hostile imports, in which one value of one fact is changed and its checksum matches. The import is refused, or it is accepted and
// every verb that reads, continues or exports it has an answer. No answer is an internal error.
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ApiError } from '../../../src/api/client/api-error.ts'
import type { ExportedView } from '../../../src/api/views/archive.ts'
import { factOf, lineOf } from '../../../src/daemon/archive/event-lines.ts'
import type { Fact } from '../../../src/kernel/model/facts.ts'
import { deep } from '../../support/deep.ts'
import { LocalDaemon } from '../../support/daemon/local-daemon.ts'

const IMPORTS = deep(60, 600)
const VERBS = ['', '/steps', '/logs', '/lineage', '/signals', '/events'] as const

let daemon: LocalDaemon
let lines: string[] = []
let intactDir = ''
let uuid = ''
let copies = 0
let acceptedCount = 0

beforeAll(async () => {
  daemon = await LocalDaemon.start()
  uuid = (
    await daemon.spawnScripted([{ text: 'one', tools: [{ name: 'bash', input: { command: 'echo 1; exit 3' } }] }, { text: 'done' }], {
      name: 'whole',
      intent: 'go',
    })
  ).uuid
  await daemon.waitForEnd(uuid)
  intactDir = (await daemon.client.post<ExportedView>(`/v1/processes/${uuid}/export`, { dir: join(daemon.work, 'good') })).dir
  lines = readFileSync(join(intactDir, 'events.jsonl'), 'utf8').split('\n').slice(0, -1)
  await daemon.client.delete(`/v1/processes/${uuid}`)
})
afterAll(async () => {
  await daemon[Symbol.asyncDispose]()
  expect(daemon.errors).toEqual([])
})

/** Returns the paths of all values within a value: `[['message', 0, 'text'], …]`. */
function placesOf(value: unknown, parentPath: readonly string[] = []): string[][] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, inner]) => [[...parentPath, key], ...placesOf(inner, [...parentPath, key])])
}

function replaceAt(root: object, fieldPath: readonly string[], value: unknown): void {
  const parent = fieldPath
    .slice(0, -1)
    .reduce<Record<string, unknown>>((holder, key) => holder[key] as Record<string, unknown>, root as Record<string, unknown>)
  const lastKey = fieldPath.at(-1) ?? ''
  if (value === undefined) delete parent[lastKey]
  else parent[lastKey] = value
}

const hostile = fc.constantFrom<unknown>(
  undefined,
  null,
  true,
  '',
  'x',
  '../../../etc/passwd',
  '/',
  '__proto__',
  'constructor',
  'a\0b',
  '\ud800',
  'x'.repeat(20_000),
  -1,
  0,
  0.5,
  2 ** 53,
  1e308,
  [],
  {},
  [null],
  [[]],
  { type: 'toString' },
  { type: 'text', text: 5 },
  '01a1f9fc-367e-76d0-95fe-47b331dd2fe5',
)

interface Change {
  readonly line: number
  readonly place: readonly string[]
  readonly value: unknown
}

const arbitraryChange = (): fc.Arbitrary<Change> =>
  fc.nat(lines.length - 1).chain((line) => {
    const fact = factOf(Buffer.from(lines[line] ?? '')) as Fact
    const places = placesOf(fact).filter(([first]) => first === 'body' || first === 'pid' || first === 'at')
    return fc.record({ line: fc.constant(line), place: fc.constantFrom(...places), value: hostile })
  })

/** Writes an export with this change and returns its folder; null if the line cannot be changed. */
function writeChangedExport({ line, place: fieldPath, value }: Change): string | null {
  const dir = join(daemon.work, `copy-${(copies += 1)}`, uuid)
  const fact = structuredClone(factOf(Buffer.from(lines[line] ?? ''))) as Fact
  replaceAt(fact, fieldPath, value)
  const text = lineOrNull(fact)
  if (text === null) return null
  mkdirSync(dir, { recursive: true })
  cpSync(intactDir, dir, { recursive: true })
  writeFileSync(
    join(dir, 'events.jsonl'),
    lines
      .with(line, text)
      .map((each) => `${each}\n`)
      .join(''),
  )
  return dir
}

function lineOrNull(fact: Fact): string | null {
  try {
    return lineOf(fact)
  } catch {
    return null
  }
}

/** Whether the request succeeds. Expects that a refusal is no internal error. */
async function succeeds(attempt: Promise<unknown>): Promise<boolean> {
  const error: unknown = await attempt.then(
    () => null,
    (reason: unknown) => reason,
  )
  if (error === null) return true
  if (!(error instanceof ApiError)) throw error
  expect([error.code, error.message]).not.toEqual(['INTERNAL', expect.anything()])
  return false
}

test('an import with one changed value is refused, or all verbs have an answer for it', async () => {
  await fc.assert(
    fc.asyncProperty(arbitraryChange(), async (change) => {
      const dir = writeChangedExport(change)
      if (dir === null || !(await succeeds(daemon.client.post('/v1/import', { dir })))) return
      acceptedCount += 1
      for (const verb of VERBS)
        await succeeds(verb === '/events' ? daemon.readHistory(uuid) : daemon.client.get(`/v1/processes/${uuid}${verb}`))
      const forked = await daemon
        .resume(uuid, { fork: true })
        .catch((error: unknown) => (error instanceof ApiError ? null : Promise.reject(error)))
      if (forked) await daemon.signal(forked.process.uuid, 'SIGKILL').catch(() => undefined)
      if (forked) await daemon.waitForEnd(forked.process.uuid)
      await succeeds(daemon.client.post(`/v1/processes/${uuid}/export`, { dir: join(daemon.work, `again-${copies}`) }))
      await daemon.client.delete(`/v1/processes/${uuid}`)
      expect(daemon.errors).toEqual([])
    }),
    { numRuns: IMPORTS, examples: [[{ line: 0, place: ['body', 'spec', 'agent'], value: '\ud800' }]] },
  )
  expect(acceptedCount).toBeGreaterThan(0)
  const { checks } = await daemon.client.get<{ checks: { name: string; ok: boolean }[] }>('/v1/doctor', { verify: true })
  expect(checks.filter(({ name, ok }) => name.startsWith('store') && !ok)).toEqual([])
}, 300_000)
