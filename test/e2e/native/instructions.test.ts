// Instructions from AGENTS.md, through the daemon: what the model gets, what a resume keeps after a change of the file, and which processes
// get none.
import { mkdir, realpath, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { runCli } from '../../support/daemon/cli.ts'
import { LocalDaemon } from '../../support/daemon/local-daemon.ts'
import { startModelServer, type ModelServer } from '../../support/models/model-server.ts'
import type { ProcessView, SpawnBody } from '../../../src/api/views/process.ts'

let resources: AsyncDisposableStack
let server: ModelServer
let daemon: LocalDaemon

beforeEach(async () => {
  resources = new AsyncDisposableStack()
  server = resources.use(await startModelServer(() => ({ text: 'done' })))
  const config = `providers:\n  - { name: local, kind: openai-compatible, baseURL: "${server.url}/v1" }\n`
  daemon = resources.use(await LocalDaemon.start({ config }))
  await mkdir(join(daemon.work, '.git'))
  await writeFile(join(daemon.work, '.git/HEAD'), 'ref: refs/heads/main\n')
  await writeFile(join(daemon.work, 'AGENTS.md'), 'Use tabs.')
})
afterEach(async () => {
  await resources.disposeAsync()
  expect(daemon.errors).toEqual([])
})

const start = (body: Partial<SpawnBody> = {}): Promise<ProcessView> => daemon.spawn({ model: 'local/m', intent: 'work', ...body })

/** The system prompt of the newest request to the model. */
function lastSystemPrompt(): string {
  const { messages = [] } = (server.requests.at(-1)?.body ?? {}) as { messages?: { role: string; content: unknown }[] }
  return messages
    .filter(({ role }) => role === 'system')
    .map(({ content }) => (typeof content === 'string' ? content : JSON.stringify(content)))
    .join('')
}

test('the model gets the instructions after the role prompt, and the process names the file', async () => {
  const { uuid } = await start()
  const { instructions } = await daemon.waitForEnd(uuid)
  expect(lastSystemPrompt()).toContain('<file name="AGENTS.md">\nUse tabs.\n</file>')
  expect(instructions).toEqual([
    {
      name: 'AGENTS.md',
      path: join(await realpath(daemon.work), 'AGENTS.md'),
      sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
      cut: false,
    },
  ])
  expect((await runCli(daemon.home, ['inspect', uuid])).stdout).toMatch(/\ninstructions +AGENTS\.md\n/)
})

test('a resume has the recorded text, whatever the file says by then', async () => {
  const { uuid } = await start()
  await daemon.waitForEnd(uuid)
  await writeFile(join(daemon.work, 'AGENTS.md'), 'Use spaces.')
  await daemon.resume(uuid, { message: 'again' })
  await daemon.waitForEnd(uuid)
  expect(server.requests).toHaveLength(2)
  expect(lastSystemPrompt()).toContain('Use tabs.')
})

test('a process can leave the instructions out, by its request and by its agent file', async () => {
  await daemon.waitForEnd((await start({ instructions: false })).uuid)
  expect(lastSystemPrompt()).not.toContain('Use tabs.')
  await mkdir(join(daemon.work, '.reeve/agents'), { recursive: true })
  await writeFile(join(daemon.work, '.reeve/agents/plain.md'), '---\ninstructions: false\n---\nBe plain.\n')
  await daemon.waitForEnd((await start({ agent: 'plain' })).uuid)
  expect(lastSystemPrompt()).toBe('Be plain.')
  await daemon.waitForEnd((await start({ agent: 'plain', instructions: true })).uuid)
  expect(lastSystemPrompt()).toContain('Use tabs.')
})

test('a process with limited paths gets only the instructions that it may read', async () => {
  await mkdir(join(daemon.work, 'src'))
  await writeFile(join(daemon.work, 'src', 'AGENTS.md'), 'Of the sources.')
  const { uuid } = await start({ cwd: join(daemon.work, 'src'), allow: ['read:.'] })
  expect((await daemon.waitForEnd(uuid)).instructions.map(({ name }) => name)).toEqual(['src/AGENTS.md'])
  expect(lastSystemPrompt()).toContain('Of the sources.')
  expect(lastSystemPrompt()).not.toContain('Use tabs.')
})

test('a command has no instructions, and refuses the option', async () => {
  const { uuid } = await daemon.spawn({ argv: ['true'] })
  expect((await daemon.waitForEnd(uuid)).instructions).toEqual([])
  await expect(daemon.spawn({ argv: ['true'], instructions: false })).rejects.toMatchObject({ code: 'INVALID' })
})
