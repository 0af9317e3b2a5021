// Upgrades of a daemon with ten running agents, again and again between two builds. No agent fails, none loses a step, and none makes a
// step twice. Eight native agents call a local model server in the four wire formats; two external agents take messages.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { connect, type DaemonView, type ProcessView, type Reeve } from '../../../src/index.ts'
import * as lines from '../../support/agents/agent-lines.ts'
import { writeProgramOfTurns } from '../../support/programs/scripted-program.ts'
import type { RunningCli } from '../../support/daemon/cli.ts'
import { Installation } from '../../support/daemon/installation.ts'
import { deep } from '../../support/deep.ts'
import { FORM } from '../../support/env.ts'
import { startModelServer, type ModelServer, type ServedAnswer, type ServedRequest } from '../../support/models/model-server.ts'
import { WIRE_FORMATS } from '../../support/models/wire-formats.ts'
import { tempDir, type TempDir } from '../../support/tmp.ts'

const ROUNDS = deep(2, 20)
const BUILDS = ['0123456789abcdef', 'fedcba9876543210'] as const
const ACP_AGENT = resolve(import.meta.dirname, '../../support/programs/acp-agent.ts')
/** the steps that each native agent makes between two upgrades, at least */
const STEPS_BETWEEN = 2
const WAIT = { timeout: 90_000 }

let dir: TempDir
let home: string
let server: ModelServer
let isFinishing = false
/** the number of model requests by agent */
const requestCounts = new Map<string, number>()

/** The answer to an agent: its next step, until the agents shall finish. The request contains the name of the agent and its results. */
function answerTo({ body }: ServedRequest): ServedAnswer {
  const text = JSON.stringify(body)
  const name = /I am (agent-\d)/.exec(text)?.[1] ?? ''
  requestCounts.set(name, (requestCounts.get(name) ?? 0) + 1)
  if (isFinishing) return { text: `${name} is done` }
  const last = Math.max(0, ...[...text.matchAll(/did-(\d+)!/g)].map(([, step]) => Number(step)))
  return { tools: [{ id: `call-${last + 1}`, name: 'bash', input: { command: `sh step.sh ${name} ${last + 1}` } }] }
}

beforeEach(async () => {
  dir = await tempDir()
  home = join(dir.path, 'home')
  mkdirSync(join(home, '.reeve/agents'), { recursive: true, mode: 0o700 })
  server = await startModelServer(answerTo)
  const providers = WIRE_FORMATS.map(({ kind, provider, basePath }) => ({
    name: provider,
    kind,
    baseURL: `${server.url}${basePath}`,
    apiKeyEnv: null,
  }))
  writeFileSync(join(home, 'config.yaml'), JSON.stringify({ providers }))
  writeFileSync(join(home, 'step.sh'), 'echo "$2" >> "$1.steps"\nsleep 0.05\necho "did-$2!"\n')
})
afterEach(async () => {
  await server[Symbol.asyncDispose]()
  await dir[Symbol.asyncDispose]()
})

const NATIVE = Array.from({ length: 8 }, (_, i) => `agent-${i}`)
const readSteps = (name: string): number[] => {
  const file = join(home, `${name}.steps`)
  return existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n').map(Number) : []
}

/** Writes the files of the external agents, which take messages and continue their session. */
async function writeExternalAgents(): Promise<{ readPrompts(): string[]; readClaudeCalls(): Promise<string[][]> }> {
  const log = join(home, 'acp.log')
  const acp = [process.execPath, ACP_AGENT, `sessions=${home}`, `log=${log}`, 'load']
  writeFileSync(join(home, '.reeve/agents/acp.md'), `---\ndriver: acp\ncommand: ${JSON.stringify(acp)}\n---\n`)
  const asLines = (items: readonly object[]): { line: object }[] => items.map((line) => ({ line }))
  const { program, readCalls } = await writeProgramOfTurns(home, 'claude', [asLines(lines.CLAUDE_TOOLS), asLines(lines.CLAUDE_RESUMED)])
  const claude = [program, '-p', '--output-format', 'stream-json', '--verbose']
  writeFileSync(join(home, '.reeve/agents/claude-like.md'), `---\ndriver: command\ncommand: ${JSON.stringify(claude)}\n---\n`)
  return {
    readPrompts: () => [...readFileSync(log, 'utf8').matchAll(/^prompt "(.*)"$/gm)].map(([, prompt]) => prompt ?? ''),
    readClaudeCalls: readCalls,
  }
}

async function startAgents(installed: Installation): Promise<RunningCli> {
  const start = async (...args: string[]): Promise<void> => {
    expect(await installed.run(home, ['run', '-d', ...args])).toMatchObject({ code: 0 })
  }
  const nativeArgs = (name: string, i: number): string[] => {
    const { provider, name: model } = WIRE_FORMATS[i % WIRE_FORMATS.length] ?? WIRE_FORMATS[0]!
    return ['--name', name, '--model', `${provider}/${model}`, `I am ${name}`]
  }
  await start('--name', 'acp', '--agent', 'acp', '--interactive', 'say round 0')
  await start('--name', 'claude-like', '--agent', 'claude-like', '--interactive', 'say round 0')
  await Promise.all(NATIVE.slice(1).map((name, i) => start(...nativeArgs(name, i + 1))))
  // The first agent runs in a terminal, which follows it over all upgrades.
  return installed.start(home, ['run', ...nativeArgs('agent-0', 0)])
}

const listAll = (reeve: Reeve): Promise<readonly ProcessView[]> => reeve.list({ all: true })

test.runIf(FORM === 'bundle')(
  `ten agents continue over ${ROUNDS} upgrades, and lose or repeat no step`,
  async () => {
    const installs = BUILDS.map((build) => Installation.copy(join(dir.path, build)).setBuildId(build))
    const [first] = installs as [Installation]
    const reeve = connect({ home, start: false })
    expect(await first.run(home, ['daemon', 'start'])).toMatchObject({ code: 0 })
    try {
      const external = await writeExternalAgents()
      const followed = await startAgents(first)
      for (let round = 1; round <= ROUNDS; round += 1) {
        const before = NATIVE.map((name) => readSteps(name).length)
        await expect.poll(() => NATIVE.every((name, i) => readSteps(name).length >= (before[i] ?? 0) + STEPS_BETWEEN), WAIT).toBe(true)
        for (const name of ['acp', 'claude-like']) await reeve.send(name, `say round ${round}`)
        // After the usual ten seconds a call is cut off, and its agent may repeat it: on a busy machine that is too soon.
        const upgraded = await installs[round % 2]!.run(home, ['daemon', 'upgrade', '--drain', '2m', '--json'])
        expect(upgraded).toMatchObject({ code: 0 })
        const view = JSON.parse(upgraded.stdout) as DaemonView & { upgradedFrom: Pick<DaemonView, 'build'> }
        expect([view.build, view.upgradedFrom.build]).toEqual([BUILDS[round % 2], BUILDS[(round + 1) % 2]])
        await expect
          .poll(
            async () =>
              (await listAll(reeve)).map(({ name, status }) => `${name} ${status}`).filter((line) => !/ (working|ready)$/.test(line)),
            WAIT,
          )
          .toEqual([])
      }
      isFinishing = true
      expect(await followed.result).toMatchObject({ code: 0, stdout: expect.stringContaining('agent-0 is done') as string })
      for (const name of NATIVE) {
        const { code } = await first.run(home, ['wait', '-q', name])
        const view = await reeve.get(name)
        const steps = readSteps(name)
        expect([name, code, view.status]).toEqual([name, 0, 'completed'])
        const wrong = steps.findIndex((step, i) => step !== i + 1)
        const around = wrong < 0 ? [] : await Promise.all([wrong, wrong + 1].map((step) => reeve.step(name, step)))
        expect(steps, `the steps at the first mistake: ${JSON.stringify(around)}`).toEqual(steps.map((_, i) => i + 1))
        expect(view).toMatchObject({ step: steps.length + 1, usage: { steps: steps.length + 1, toolCalls: steps.length } })
        expect(requestCounts.get(name)).toBe(steps.length + 1)
      }
      const messages = Array.from({ length: ROUNDS + 1 }, (_, round) => `say round ${round}`)
      await expect.poll(() => external.readPrompts(), WAIT).toEqual(messages)
      await expect.poll(async () => (await external.readClaudeCalls()).map((args) => args.at(-1)), WAIT).toEqual(messages)
      const log = readFileSync(join(home, 'daemon.log'), 'utf8')
      expect(log.split('\n').filter((line) => /"level":(50|60)/.test(line))).toEqual([])
    } finally {
      await first.run(home, ['daemon', 'stop', '--now'])
    }
  },
  deep(300_000, 1_800_000),
)
