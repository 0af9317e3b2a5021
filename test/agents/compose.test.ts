// A run of a compose file with real coding agents as nodes: Codex by ACP continues from Claude Code's answer by ACP, and a command
// from the work of Codex. A script with rules plays their models, which the agents cannot notice.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { installed } from '../../scripts/agents.ts'
import type { OneRunView, RunView } from '../../src/api/views/compose.ts'
import { parseScript } from '../../src/drivers/native/scripts/script-file.ts'
import { states } from '../support/daemon/compose.ts'
import { DaemonHome } from '../support/daemon/daemon.ts'
import { testEnv } from '../support/env.ts'
import { modelServer } from '../support/models/model-server.ts'
import { poll } from './bench.ts'
import { KINDS } from './kinds.ts'
import { aside, isSuggestion, withId } from './model.ts'
import { scripted } from './scripted.ts'

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

let open: AsyncDisposableStack | undefined
afterEach(() => open?.disposeAsync())

describe.skipIf(!claude || !codex)('Claude Code and Codex by ACP', () => {
  const both = [claude, codex].filter((kind) => kind !== undefined)

  test('as nodes that depend on each other, to the end', { timeout: RUN_MS }, async () => {
    const stack = (open = new AsyncDisposableStack())
    const home = stack.use(await DaemonHome.make('bundle'))
    let count = 0
    const server = stack.use(
      await modelServer((request) => {
        const { path, body } = request
        const kind = both.find(({ needs }) => needs.startsWith(path.includes('/responses') ? 'codex' : 'claude'))
        const isWork = Array.isArray(body['tools']) && body['tools'].length > 1 && !isSuggestion(body)
        const answer = isWork && kind ? scripted(SCRIPT, body, (_, input) => kind.hands.shell(String(input['command']))) : null
        return answer === null ? aside(request, { input: 1, output: 1 }) : withId(answer, request, (count += 1))
      }),
    )
    const person = join(home.work, 'person')
    const work = join(home.work, 'project')
    for (const dir of [person, work]) mkdirSync(dir)
    writeFileSync(join(work, 'reeve.yaml'), JSON.stringify(FILE))
    const programs = both.flatMap(({ needs }) => installed(needs) ?? []).map((program) => join(program, '..'))
    const env: Record<string, string> = { ...testEnv(person), PATH: [...programs, testEnv(person)['PATH']].join(delimiter) }
    for (const kind of both) Object.assign(env, kind.env(server.url, person))
    delete env['REEVE_HOME']
    delete env['TMPDIR']
    await home.start()
    const {
      run: { uuid },
    } = await home.client.post<OneRunView>('/v1/compose', { cwd: work, env })
    const view = await poll(
      async (): Promise<RunView | null> => {
        const { run } = await home.client.get<OneRunView>(`/v1/compose/${uuid}`)
        return run.exitedAt === null ? null : run
      },
      'the run has ended',
      RUN_MS,
    )
    expect(states(view), JSON.stringify(view.nodes)).toBe('check completed, build completed, plan completed')
    expect(view.nodes.map(({ process }) => process?.agent)).toEqual(['command', 'codex', 'claude'])
    expect(readFileSync(join(work, 'all.txt'), 'utf8')).toBe(
      'a plan\nwrite tokens with a full stop\nbuilt: write tokens with a full stop\n',
    )
    await home.stop()
    await home.nothingLeft()
  })
})
