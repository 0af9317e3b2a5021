// Skills through the daemon. The tests check what the model gets, how it loads a skill, what a resume keeps, and which processes get none.
import { mkdir, realpath, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { runCli } from '../../support/daemon/cli.ts'
import { LocalDaemon } from '../../support/daemon/local-daemon.ts'
import { startModelServer, type ModelServer, type ServedAnswer, type ServedRequest } from '../../support/models/model-server.ts'
import type { ProcessView, SpawnBody } from '../../../src/api/views/process.ts'

let resources: AsyncDisposableStack
let server: ModelServer
let daemon: LocalDaemon

/** Loads the skill in the first answer of a conversation, if the model has the tool. */
function answerFor(body: ServedRequest['body']): ServedAnswer {
  const hasTool = JSON.stringify(body['tools'] ?? []).includes('"skill"')
  const isLoaded = JSON.stringify(body['messages']).includes('"role":"tool"')
  return hasTool && !isLoaded ? { tools: [{ name: 'skill', input: { name: 'pdf' } }] } : { text: 'done' }
}

beforeEach(async () => {
  resources = new AsyncDisposableStack()
  server = resources.use(await startModelServer(({ body }) => answerFor(body)))
  const config = `providers:\n  - { name: local, kind: openai-compatible, baseURL: "${server.url}/v1" }\n`
  daemon = resources.use(await LocalDaemon.start({ config }))
  await mkdir(join(daemon.work, '.git'))
  await writeFile(join(daemon.work, '.git/HEAD'), 'ref: refs/heads/main\n')
  await mkdir(join(daemon.work, '.claude/skills/pdf'), { recursive: true })
  await writeFile(skillFile(), '---\nname: pdf\ndescription: Reads PDF files.\n---\nUse pdftotext.')
  await writeFile(join(daemon.work, '.claude/skills/pdf/forms.md'), '')
})
afterEach(async () => {
  await resources.disposeAsync()
  expect(daemon.errors).toEqual([])
})

const skillFile = (): string => join(daemon.work, '.claude/skills/pdf/SKILL.md')
const start = (body: Partial<SpawnBody> = {}): Promise<ProcessView> => daemon.spawn({ model: 'local/m', intent: 'work', ...body })
const lastRequest = (): string => JSON.stringify(server.requests.at(-1)?.body)

test('the prompt lists the skill, the tool loads it, and a resume has the loaded text', async () => {
  const { uuid } = await start()
  const { skills } = await daemon.waitForEnd(uuid)
  expect(JSON.stringify(server.requests[0]?.body)).toContain('- pdf: Reads PDF files.')
  expect(lastRequest()).toContain('Use pdftotext.')
  expect(lastRequest()).toContain('forms.md')
  const path = join(await realpath(daemon.work), '.claude/skills/pdf/SKILL.md')
  expect(skills).toEqual([{ name: 'pdf', description: 'Reads PDF files.', path, sha256: expect.stringMatching(/^[0-9a-f]{64}$/) }])
  expect((await runCli(daemon.home, ['inspect', uuid])).stdout).toMatch(/\nskills +pdf\n/)

  await writeFile(skillFile(), '---\nname: pdf\ndescription: Changed.\n---\nChanged.')
  await daemon.resume(uuid, { message: 'again' })
  await daemon.waitForEnd(uuid)
  expect(lastRequest()).toContain('Use pdftotext.')
  expect(lastRequest()).not.toContain('Changed.')
})

test('an invalid skill is noted at the start, and the others are used', async () => {
  await mkdir(join(daemon.work, '.claude/skills/bad'))
  await writeFile(join(daemon.work, '.claude/skills/bad/SKILL.md'), 'No front matter.')
  const { stderr, code } = await runCli(daemon.home, ['run', '--model', 'local/m', 'work'], { cwd: daemon.work })
  expect(stderr).toContain('bad/SKILL.md: it has no front matter, so the skill is not used')
  expect(code).toBe(0)
  expect(lastRequest()).toContain('Use pdftotext.')
})

test('a process has no skills if its request, its agent file or its tool list excludes them', async () => {
  await mkdir(join(daemon.work, '.reeve/agents'), { recursive: true })
  await writeFile(join(daemon.work, '.reeve/agents/plain.md'), '---\nskills: false\n---\nBe plain.\n')
  await writeFile(join(daemon.work, '.reeve/agents/reader.md'), '---\ntools: [read]\n---\nRead.\n')
  for (const body of [{ skills: false }, { agent: 'plain' }, { agent: 'reader' }, { deny: ['skill'] }]) {
    await daemon.waitForEnd((await start(body)).uuid)
    expect(lastRequest()).not.toContain('pdf')
    expect(lastRequest()).not.toContain('"skill"')
  }
  await expect(daemon.spawn({ argv: ['true'], skills: false })).rejects.toMatchObject({ code: 'INVALID' })
})

test('an agent file can name its skills, and its agent then has the tool', async () => {
  await mkdir(join(daemon.work, '.reeve/agents'), { recursive: true })
  await writeFile(join(daemon.work, '.reeve/agents/reader.md'), '---\ntools: [read]\nskills: [pdf]\n---\nRead.\n')
  const { uuid } = await start({ agent: 'reader' })
  const { capabilities } = await daemon.waitForEnd(uuid)
  expect(capabilities.tools).toEqual(['read', 'skill'])
  expect(lastRequest()).toContain('Use pdftotext.')
})

test('a process with limited paths gets only the skills that it may read', async () => {
  await mkdir(join(daemon.work, 'src'))
  const { uuid } = await start({ cwd: join(daemon.work, 'src'), allow: ['read:.'] })
  expect((await daemon.waitForEnd(uuid)).skills).toEqual([])
  expect(lastRequest()).not.toContain('pdf')
})
