// The reports from an agent's lines: steps, calls and their results. Also the meter, which charges only usage that was not charged before.
import { describe, expect, test } from 'vitest'
import { UsageDeltas, readCharges } from '../../../../src/drivers/command/usage-deltas.ts'
import { ObservationMapper } from '../../../../src/drivers/command/observation-mapper.ts'
import { parseKnownCommand } from '../../../../src/drivers/command/formats/formats.ts'
import * as lines from '../../../support/agents/agent-lines.ts'
import { CommitMaker, uuidOf } from '../../../support/store/facts.ts'
import type { Observation, Tokens } from '../../../../src/drivers/command/formats/format.ts'
import type { AssistantPart } from '../../../../src/kernel/model/facts.ts'
import type { Report } from '../../../../src/kernel/model/reports.ts'
import type { OutputFormat } from '../../../../src/kernel/model/words.ts'

const PER_TOKEN = 0.001
const priceOf = async ({ model }: { readonly model: string }, tokens: Tokens): Promise<number | null> =>
  model === 'priced' ? tokens.inputTokens * PER_TOKEN : null
const meterWith = (options: Partial<ConstructorParameters<typeof UsageDeltas>[0]> = {}): UsageDeltas =>
  new UsageDeltas({ charged: new Map(), mayBeOlder: false, price: priceOf, ...options })

function createMapper(options: Partial<ConstructorParameters<typeof ObservationMapper>[0]> = {}): ObservationMapper {
  let nowMs = 0
  return new ObservationMapper({
    step: 0,
    sessionId: null,
    meter: meterWith(),
    marksSteps: false,
    model: 'unnamed',
    keepsNoSession: false,
    now: () => (nowMs += 10),
    ...options,
  })
}

async function reportsOf(
  name: OutputFormat,
  observed: readonly object[],
  options: Partial<ConstructorParameters<typeof ObservationMapper>[0]> = {},
): Promise<Report[]> {
  const { format, command } = parseKnownCommand([name], name)
  const mapper = createMapper({ marksSteps: format.marksSteps, ...options })
  const reports: Report[] = []
  for (const line of observed)
    reports.push(...(await mapper.observe(format.read(line as Readonly<Record<string, unknown>>, command) ?? [])))
  return [...reports, ...mapper.onEnd()]
}

/** A transcript of reports: one line each. */
function transcriptOf(reports: readonly Report[]): string[] {
  return reports.map((report) => {
    switch (report.type) {
      case 'model.started':
        return `begin ${report.step} ${report.model}`
      case 'model.finished':
        return `answer ${report.step}: ${report.message.map(textOfPart).join(' + ')}; ${textOfUsage(report.usage)}`
      case 'tool.finished':
        return `result ${report.callId}: ${report.outcome} ${JSON.stringify(report.content)}`
      case 'usage':
        return `used ${textOfUsage(report.usage)}`
      case 'note':
        return `note ${report.text}`
      default:
        return report.type
    }
  })
}

function textOfPart(part: AssistantPart): string {
  return part.type === 'tool-call' ? `${part.name}(${part.callId})` : part.text
}

function textOfUsage({
  inputTokens,
  outputTokens,
  cacheReadTokens,
  cacheWriteTokens,
  costUsd,
  estimated,
}: Tokens & { costUsd: number | null; estimated?: boolean }): string {
  return `${inputTokens}/${outputTokens}/${cacheReadTokens}/${cacheWriteTokens} $${costUsd === null ? '?' : Number(costUsd.toFixed(6))}${estimated ? ' estimated' : ''}`
}

describe('a recorded turn', () => {
  test('of Claude Code: the result does not charge the usage of its steps again', async () => {
    expect(transcriptOf(await reportsOf('claude', lines.CLAUDE_TOOLS))).toEqual([
      'session',
      'begin 1 served',
      'answer 1: I will run it. + Bash(toolu_0) + Bash(toolu_1); 1000/1/300/20 $0',
      'result toolu_0: error "Exit code 3\\nhello"',
      'result toolu_1: error "Exit code 3\\nhello"',
      'begin 2 served',
      'answer 2: It is done.; 1000/1/300/20 $0',
      'used 0/98/0/0 $0.01032',
    ])
  })

  test('of Codex has its items as steps', async () => {
    expect(transcriptOf(await reportsOf('codex', lines.CODEX_TOOLS, { step: 4 }))).toEqual([
      'session',
      'begin 5 unnamed',
      'answer 5: I will run it. + shell(item_1); 0/0/0/0 $0',
      'result item_1: ok "hello\\n"',
      'begin 6 unnamed',
      'answer 6: It is done.; 0/0/0/0 $0',
      'used 2000/100/600/40 $?',
    ])
  })

  test('of Gemini CLI: pieces become one text', async () => {
    expect(transcriptOf(await reportsOf('gemini', lines.GEMINI_TOOLS))).toEqual([
      'session',
      'begin 1 gemini-2.5-pro',
      expect.stringMatching(/^answer 1: I will run it\. \+ run_shell_command\(\S+\); 0\/0\/0\/0 \$0$/),
      expect.stringMatching(/^result \S+: ok "hello"$/),
      'begin 2 gemini-2.5-pro',
      'answer 2: It is done.; 0/0/0/0 $0',
      'used 2040/100/600/0 $?',
    ])
  })

  test('of OpenCode: results come after the answer with their calls', async () => {
    expect(transcriptOf(await reportsOf('opencode', lines.OPENCODE_TOOLS))).toEqual([
      'session',
      'begin 1 unnamed',
      'answer 1: I will run it. + bash(call_0); 1020/50/300/0 $0',
      'result call_0: ok "hello\\n"',
      'begin 2 unnamed',
      'answer 2: It is done.; 1020/50/300/0 $0',
    ])
  })

  test('of OpenCode: the usage of a subagent is not reported, so the usage is marked', async () => {
    const delegating = JSON.parse(JSON.stringify(lines.OPENCODE_TOOLS).replaceAll('"bash"', '"task"')) as readonly object[]
    const estimateMarks = (observed: readonly Report[]): unknown =>
      observed.flatMap((report) => (report.type === 'model.finished' ? [report.usage.estimated ?? false] : []))
    expect(estimateMarks(await reportsOf('opencode', delegating))).toEqual([true, false])
    expect(estimateMarks(await reportsOf('opencode', lines.OPENCODE_TOOLS))).toEqual([false, false])
  })

  test('ends as the agent reports; without a reported result, the last text is the result', async () => {
    const turnEndOf = async (name: OutputFormat, observed: readonly object[]): Promise<unknown> => {
      const { format, command } = parseKnownCommand([name], name)
      const mapper = createMapper({ marksSteps: format.marksSteps })
      for (const line of observed) await mapper.observe(format.read(line as Readonly<Record<string, unknown>>, command) ?? [])
      mapper.onEnd()
      return mapper.reportedEnd
    }
    for (const [name, observed] of [
      ['claude', lines.CLAUDE_TOOLS],
      ['codex', lines.CODEX_TOOLS],
      ['gemini', lines.GEMINI_TOOLS],
      ['opencode', lines.OPENCODE_TOOLS],
    ] as const) {
      expect(await turnEndOf(name, observed)).toMatchObject({ error: null, result: 'It is done.' })
      expect(await turnEndOf(name, observed.slice(0, 3))).toBeNull()
    }
    expect(await turnEndOf('codex', lines.CODEX_REFUSED)).toMatchObject({ error: 'bad thing' })
  })
})

const textPart = (content: string, answer: string | null = null): Observation => ({
  type: 'part',
  answer,
  part: { type: 'text', text: content },
})
const callPart = (callId: string, answer: string | null = null): Observation => ({
  type: 'part',
  answer,
  part: { type: 'tool-call', callId, name: 'run', input: {} },
})
const toolResult = (callId: string, content = 'x'): Observation => ({ type: 'tool', callId, outcome: 'ok', content })
const usageOf = (
  inputTokens: number,
  fields: Partial<Extract<Observation, { type: 'used' }>> = {},
): Extract<Observation, { type: 'used' }> => ({
  type: 'used',
  span: 'step',
  tokens: { inputTokens, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 },
  costUsd: null,
  ...fields,
})

describe('answers', () => {
  test('are reported before their result, and when nothing follows their calls', async () => {
    const mapper = createMapper()
    expect(await mapper.observe([textPart('a', 'm'), callPart('c', 'm')])).toEqual([])
    expect(transcriptOf(mapper.onQuiet())).toEqual(['begin 1 unnamed', 'answer 1: a + run(c); 0/0/0/0 $0'])
    expect(mapper.onQuiet()).toEqual([])
    expect(transcriptOf(await mapper.observe([toolResult('c')]))).toEqual(['result c: ok "x"'])
  })

  test('without a call wait for the next observation', async () => {
    const mapper = createMapper()
    await mapper.observe([textPart('a', 'm')])
    expect(mapper.onQuiet()).toEqual([])
    expect(transcriptOf(await mapper.observe([textPart('b', 'n')]))).toEqual(['begin 1 unnamed', 'answer 1: a; 0/0/0/0 $0'])
  })

  test('that continue after they were reported do not close running calls, and are charged once', async () => {
    const mapper = createMapper()
    await mapper.observe([callPart('c', 'm'), usageOf(5)])
    mapper.onQuiet()
    expect(await mapper.observe([callPart('d', 'm'), usageOf(5)])).toEqual([])
    expect(transcriptOf(await mapper.observe([toolResult('c'), toolResult('d')]))).toEqual([
      'result c: ok "x"',
      'begin 2 unnamed',
      'answer 2: run(d); 0/0/0/0 $0',
      'result d: ok "x"',
    ])
  })

  test('close a call that continues in the background', async () => {
    const mapper = createMapper()
    await mapper.observe([callPart('c')])
    mapper.onQuiet()
    await mapper.observe([textPart('meanwhile'), callPart('d')])
    expect(transcriptOf(await mapper.observe([toolResult('d'), toolResult('c')]))).toEqual([
      'result c: ok "(it continues in the background)"',
      'begin 2 unnamed',
      'answer 2: meanwhile + run(d); 0/0/0/0 $0',
      'result d: ok "x"',
    ])
  })

  test('have a length limit: the rest becomes another step', async () => {
    const mapper = createMapper()
    const reports = await mapper.observe(Array.from({ length: 2_500 }, (_, index) => callPart(`c${index}`, 'm')))
    expect(reports.filter(({ type }) => type === 'model.finished').length).toBe(2)
    for (const report of reports) if (report.type === 'model.finished') expect(report.message.length).toBeLessThanOrEqual(1_000)
  })

  test('a result without a call, and a repeated result, are ignored', async () => {
    const mapper = createMapper()
    expect(await mapper.observe([toolResult('x')])).toEqual([])
    await mapper.observe([callPart('c')])
    await mapper.observe([toolResult('c')])
    expect(await mapper.observe([toolResult('c')])).toEqual([])
  })

  test('content and input are cut, and deeply nested input is not kept', async () => {
    const mapper = createMapper()
    const deepInput: unknown = JSON.parse(`${'['.repeat(200_000)}${']'.repeat(200_000)}`)
    const part = { type: 'tool-call', callId: 'c', name: 'n'.repeat(1_000), input: deepInput } as const
    const bigPart = { type: 'tool-call', callId: 'd', name: 'n', input: { text: 'x'.repeat(3_000_000) } } as const
    const reports = await mapper.observe([
      { type: 'part', answer: null, part },
      { type: 'part', answer: null, part: bigPart },
      toolResult('c', 'y'.repeat(3_000_000)),
    ])
    expect(reports.map(({ type }) => type)).toEqual(['model.started', 'model.finished', 'tool.finished'])
    expect(JSON.stringify(reports).length).toBeLessThan(2_200_000)
    expect(JSON.stringify(reports)).toContain('nested too deep')
  })
})

describe('a session', () => {
  test('is reported once, and never if its id could be a command-line option', async () => {
    const mapper = createMapper({ sessionId: 'known' })
    expect(
      await mapper.observe([
        { type: 'session', id: 'known' },
        { type: 'session', id: '--evil' },
        { type: 'session', id: '' },
        { type: 'session', id: 'a b' },
      ]),
    ).toEqual([])
    expect(
      await mapper.observe([
        { type: 'session', id: 'ses_1' },
        { type: 'session', id: 'ses_1' },
      ]),
    ).toEqual([{ type: 'session', sessionId: 'ses_1' }])
  })
})

test('an agent without sessions reports none', async () => {
  expect(await createMapper({ keepsNoSession: true }).observe([{ type: 'session', id: 'ses_1' }])).toEqual([])
})

test('the usage of a subagent is charged once, and the result is final', async () => {
  const mapper = createMapper()
  const aside = usageOf(7, { subagentAnswer: 'sub_1' })
  expect(transcriptOf(await mapper.observe([aside, aside, usageOf(9, { span: 'since', costUsd: 0.5 })]))).toEqual([
    'used 7/0/0/0 $0',
    'used 2/0/0/0 $0.5',
  ])
})

describe('the meter', () => {
  const chargesOf = async (meter: UsageDeltas, ...observed: Extract<Observation, { type: 'used' }>[]): Promise<string[]> => {
    const usages: string[] = []
    for (const one of observed) usages.push(textOfUsage(await meter.charge(one)))
    return usages
  }
  const priced = { priced: { provider: 'p', model: 'priced' } }

  test('a step costs the list price until the agent reports its cost', async () => {
    expect(await chargesOf(meterWith(), usageOf(10, priced), usageOf(10), usageOf(30, { span: 'since', costUsd: 0.5 }))).toEqual([
      '10/0/0/0 $0.01',
      '10/0/0/0 $0',
      '10/0/0/0 $0.49',
    ])
  })

  test('each `since` begins a new span', async () => {
    expect(await chargesOf(meterWith(), usageOf(10, { span: 'since', costUsd: 1 }), usageOf(10, { span: 'since', costUsd: 1 }))).toEqual([
      '10/0/0/0 $1',
      '10/0/0/0 $1',
    ])
  })

  test('totals are never added, and never decrease', async () => {
    const totalUsage = (tokens: number, costUsd: number) => usageOf(tokens, { span: 'session', costUsd })
    expect(await chargesOf(meterWith(), totalUsage(10, 1), totalUsage(25, 1.5), totalUsage(20, 1.2))).toEqual([
      '10/0/0/0 $1',
      '15/0/0/0 $0.5',
      '0/0/0/0 $0',
    ])
  })

  test('an unknown price stays unknown, and a listed price applies to the difference', async () => {
    const totalUsage = (tokens: number) => usageOf(tokens, { span: 'session', ...priced })
    expect(await chargesOf(meterWith(), totalUsage(10), totalUsage(30), usageOf(40, { span: 'session' }))).toEqual([
      '10/0/0/0 $0.01',
      '20/0/0/0 $0.02',
      '10/0/0/0 $?',
    ])
  })

  test('after a resume the total counts from the charges of this process in that session', async () => {
    const charged = new Map([['old', { inputTokens: 10, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0, costUsd: 1 }]])
    const meter = meterWith({ charged, mayBeOlder: true })
    meter.beginSession('old')
    expect(await chargesOf(meter, usageOf(25, { span: 'session', costUsd: 1.5 }))).toEqual(['15/0/0/0 $0.5'])
    meter.beginSession('other')
    expect(await chargesOf(meter, usageOf(25, { span: 'session', costUsd: 1.5 }), usageOf(26, { span: 'session', costUsd: 1.5 }))).toEqual([
      '25/0/0/0 $1.5 estimated',
      '1/0/0/0 $0',
    ])
  })

  test('the charges are in the journal, session by session', async () => {
    const commits = new CommitMaker()
    const makeUsage = (inputTokens: number) => ({ inputTokens, outputTokens: 1, cacheReadTokens: 2, cacheWriteTokens: 3, costUsd: 0.5 })
    const uuid = uuidOf(1)
    const { facts } = commits.spawn(
      uuid,
      undefined,
      { type: 'process.handle', handle: null, sessionId: 'one' },
      { type: 'usage.reported', usage: makeUsage(10) },
      { type: 'process.handle', handle: null, sessionId: 'two' },
      { type: 'usage.reported', usage: { ...makeUsage(20), costUsd: null } },
      { type: 'usage.reported', usage: makeUsage(5) },
    )
    const charged = await readCharges({
      history: async (after, limit) => facts.filter(({ seq }) => seq > after).slice(0, Math.min(limit, 2)),
    })
    expect([...charged]).toEqual([
      ['one', { ...makeUsage(10) }],
      ['two', { ...makeUsage(25), outputTokens: 2, cacheReadTokens: 4, cacheWriteTokens: 6 }],
    ])
  })

  test('the total of an agent that calls its model directly again includes the usage counted by the gateway', async () => {
    const commits = new CommitMaker()
    const makeUsage = (inputTokens: number) => ({ inputTokens, outputTokens: 1, cacheReadTokens: 0, cacheWriteTokens: 0, costUsd: 0.5 })
    const callFinished = (call: string, tokens: number) => ({
      type: 'call.finished' as const,
      call,
      usage: makeUsage(tokens),
      status: 200,
    })
    const { facts } = commits.spawn(
      uuidOf(1),
      undefined,
      callFinished('1-1', 10),
      { type: 'process.handle', handle: null, sessionId: 'one' },
      callFinished('1-2', 20),
    )
    const charged = await readCharges({ history: async (after) => facts.filter(({ seq }) => seq > after) })
    expect([...charged]).toEqual([['one', { ...makeUsage(30), outputTokens: 2, costUsd: 1 }]])
    const meter = meterWith({ charged })
    meter.beginSession('one')
    expect(await chargesOf(meter, usageOf(35, { span: 'session', costUsd: 1.5 }))).toEqual(['5/0/0/0 $0.5'])
  })
})

test('a reached rate limit counts until the agent continues', async () => {
  const mapper = createMapper()
  await mapper.observe([{ type: 'limited', until: 5_000 }])
  expect(mapper.limitedUntil).toBe(5_000)
  await mapper.observe([{ type: 'part', answer: 'm', part: { type: 'text', text: 'on' } }])
  expect(mapper.limitedUntil).toBeNull()
})
