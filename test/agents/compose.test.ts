// A compose run with real coding agents as nodes. Claude Code plans, Codex builds from the plan, and a command checks both. The
// agents are connected by ACP, and a script with rules plays their models.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { installedProgram } from '../../scripts/install-agents.ts'
import type { OneRunView, RunView } from '../../src/api/views/compose.ts'
import { parseScript } from '../../src/drivers/native/scripts/script-file.ts'
import { stateList } from '../support/compose/compose-runs.ts'
import { DaemonHome } from '../support/daemon/daemon-home.ts'
import { testEnv } from '../support/env.ts'
import { startModelServer } from '../support/models/model-server.ts'
import { pollUntil } from './harness.ts'
import { KINDS } from './kinds.ts'
import { answerSideRequest, isSuggestion, withId } from './model.ts'
import { playScript } from './script-player.ts'

const RUN_MS = 120_000
const [claude, codex] = ['claude by ACP', 'codex by ACP'].map((name) => KINDS.find((kind) => kind.name === name))

const SCRIPT = await parseScript(
  JSON.stringify({
    rules: [
      {
        when: '/^Plan it/',
        steps: [{ tools: [{ name: 'bash', input: { command: 'echo a plan > plan.txt' } }] }, { text: 'write tokens with a full stop' }],
      },
      {
        when: '/^Build it: (?<plan>.+)/',
        steps: [{ tools: [{ name: 'bash', input: { command: 'echo "{{ plan }}" > built.txt' } }] }, { text: 'built: {{ plan }}' }],
      },
    ],
  }),
  'script',
)

const FILE = {
  agents: {
    check: {
      command: ['sh', '-c', '{ cat plan.txt built.txt; echo "$1"; } > all.txt', 'sh', '{{ nodes.build.result }}'],
      depends_on: ['build'],
    },
    build: { agent: 'codex', permissions: 'allow', intent: 'Build it: {{ nodes.plan.result }}', depends_on: { plan: 'completed' } },
    plan: { agent: 'claude', permissions: 'allow', intent: 'Plan it.' },
  },
}

let resources: AsyncDisposableStack | undefined
afterEach(() => resources?.disposeAsync())

describe.skipIf(!claude || !codex)('Claude Code and Codex by ACP', () => {
  const kinds = [claude, codex].filter((kind) => kind !== undefined)

  test('complete as nodes of one run, one after the other', { timeout: RUN_MS }, async () => {
    const stack = (resources = new AsyncDisposableStack())
    const home = stack.use(await DaemonHome.create('bundle'))
    let answerCount = 0
    const server = stack.use(
      await startModelServer((request) => {
        const { path, body } = request
        const kind = kinds.find(({ installation }) => installation.startsWith(path.includes('/responses') ? 'codex' : 'claude'))
        const isWork = Array.isArray(body['tools']) && body['tools'].length > 1 && !isSuggestion(body)
        const answer = isWork && kind ? playScript(SCRIPT, body, (_, input) => kind.tools.shell(String(input['command']))) : null
        return answer === null ? answerSideRequest(request, { input: 1, output: 1 }) : withId(answer, request, (answerCount += 1))
      }),
    )
    const userHome = join(home.work, 'person')
    const work = join(home.work, 'project')
    for (const dir of [userHome, work]) mkdirSync(dir)
    writeFileSync(join(work, 'reeve.yaml'), JSON.stringify(FILE))
    const programs = kinds.flatMap(({ installation }) => installedProgram(installation) ?? []).map((program) => join(program, '..'))
    const env: Record<string, string> = { ...testEnv(userHome), PATH: [...programs, testEnv(userHome)['PATH']].join(delimiter) }
    for (const kind of kinds) Object.assign(env, kind.env(server.url, userHome))
    delete env['REEVE_HOME']
    delete env['TMPDIR']
    await home.start()
    const {
      run: { uuid },
    } = await home.client.post<OneRunView>('/v1/compose', { cwd: work, env })
    const view = await pollUntil(
      async (): Promise<RunView | null> => {
        const { run } = await home.client.get<OneRunView>(`/v1/compose/${uuid}`)
        return run.exitedAt === null ? null : run
      },
      'the run has ended',
      RUN_MS,
    )
    expect(stateList(view), JSON.stringify(view.nodes)).toBe('check completed, build completed, plan completed')
    expect(view.nodes.map(({ process }) => process?.agent)).toEqual(['command', 'codex', 'claude'])
    expect(readFileSync(join(work, 'all.txt'), 'utf8')).toBe(
      'a plan\nwrite tokens with a full stop\nbuilt: write tokens with a full stop\n',
    )
    await home.stop()
    await home.waitUntilNothingIsLeft()
  })
})
