// Coding agents as programs that answer once and exit, in a conversation: earlier turns stay known, and each call is charged
// once. An interrupted turn ends, and the next one continues; the daemon's death leaves nothing. Gemini CLI and OpenCode use the gateway.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { ProcessView } from '../../src/api/views/process.ts'
import { findLivingWith } from '../support/agents/living.ts'
import { openBench, poll, type Bench } from './bench.ts'
import { GATED, KINDS } from './kinds.ts'
import { RESULT, TASKS, USAGE } from './model.ts'

const PROMPT = 'the prompt'

const once = [...KINDS, ...GATED.filter(({ needs, isUnderstood }) => isUnderstood && (needs === 'gemini' || needs === 'opencode'))].filter(
  ({ isCommand }) => isCommand,
)

/** The command line without the prompt; Gemini CLI has an option for it. */
function withoutPrompt(argv: readonly string[], needs: string): readonly string[] {
  return argv.filter((arg, index) => arg !== PROMPT && !(needs === 'gemini' && argv[index + 1] === PROMPT))
}

describe.each(once)('$name', (kind) => {
  let bench: Bench
  beforeEach(async () => {
    bench = await openBench(kind)
  })
  afterEach(async () => {
    await bench[Symbol.asyncDispose]()
  })

  const begin = async (intent: string): Promise<string> => {
    const { argv = [], ...body } = kind.body(PROMPT)
    mkdirSync(bench.daemon.where.agentsDir, { recursive: true })
    writeFileSync(
      join(bench.daemon.where.agentsDir, 'talker.md'),
      `---\ndriver: command\ncommand: ${JSON.stringify(withoutPrompt(argv, kind.needs))}\n---\n`,
    )
    const { uuid } = await bench.daemon.spawn({ env: bench.env, ...body, agent: 'talker', interactive: true, intent })
    return uuid
  }
  const turn = (uuid: string, count: number): Promise<ProcessView> =>
    poll(async () => {
      const view = await bench.daemon.view(uuid)
      return view.turn === count && view.status === 'ready' ? view : null
    }, `turn ${count} is over; the daemon's log: ${bench.daemon.log()}`)
  const hangs = (): Promise<unknown> =>
    poll(() => findLivingWith(bench.token).some(({ argv }) => argv[0] === 'tail') || null, 'the tool hangs')

  test('turns, with an interrupted one', async () => {
    const uuid = await begin(`${TASKS.work} write a file`)
    const first = await turn(uuid, 1)
    expect(first).toMatchObject({ lastText: RESULT, step: 3 })
    expect(first.sessionId).not.toBeNull()
    await bench.cli('send', uuid, `${TASKS.again} please`)
    expect(await turn(uuid, 2)).toMatchObject({
      lastText: 'asked 2 times',
      step: 4,
      sessionId: first.sessionId,
      usage: { inputTokens: 4 * USAGE.input, outputTokens: 4 * USAGE.output },
    })
    await bench.cli('send', uuid, `${TASKS.hang} now`)
    await hangs()
    await bench.cli('kill', '-s', 'INT', uuid)
    await turn(uuid, 3)
    await bench.cli('send', uuid, `${TASKS.again} please`)
    const last = await turn(uuid, 4)
    expect(last).toMatchObject({ lastText: 'asked 4 times', step: 6, sessionId: first.sessionId })
    expect(last.usage.inputTokens).toBe(6 * USAGE.input)
    await bench.cli('stop', uuid)
    expect(await bench.ended(uuid)).toMatchObject({ status: 'stopped' })
    await bench.nothingLeft()
  })

  // OpenCode reports a step when its tools have ended.
  test.skipIf(kind.needs === 'opencode')('kill -9 of the daemon in a turn', async () => {
    const uuid = await begin(`${TASKS.again} please`)
    const { sessionId } = await turn(uuid, 1)
    await bench.cli('send', uuid, `${TASKS.hang} now`)
    await hangs()
    await poll(async () => (await bench.daemon.view(uuid)).step === 2 || null, 'its step is recorded')
    await bench.daemon.kill()
    await bench.daemon.nothingLeft()
    await bench.nothingLeft()
    await bench.daemon.start()
    await bench.daemon.resume(uuid, { env: bench.env })
    expect(await turn(uuid, 2)).toMatchObject({ lastText: 'I look what is there.', sessionId })
    await bench.cli('kill', uuid)
    await bench.ended(uuid)
    await bench.nothingLeft()
  })
})
