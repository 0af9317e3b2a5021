// From what an agent's lines say to what the kernel is told: steps, calls and their results, deltas of usage.
import { describe, expect, test } from 'vitest'
import { Meter, chargedBefore } from '../../src/drivers/command/meter.ts'
import { Narrator } from '../../src/drivers/command/narrator.ts'
import { spokenBy } from '../../src/drivers/command/formats/formats.ts'
import * as lines from '../support/agent-lines.ts'
import { Scribe, uuidOf } from '../support/store-facts.ts'
import type { Observed, Tokens } from '../../src/drivers/command/formats/format.ts'
import type { AssistantPart } from '../../src/kernel/facts.ts'
import type { Report } from '../../src/kernel/reports.ts'
import type { OutputFormat } from '../../src/kernel/types.ts'

const PER_TOKEN = 0.001
const price = async ({ model }: { readonly model: string }, tokens: Tokens): Promise<number | null> => (model === 'priced' ? tokens.inputTokens * PER_TOKEN : null)
const meterWith = (options: Partial<ConstructorParameters<typeof Meter>[0]> = {}): Meter => new Meter({ charged: new Map(), foreign: false, price, ...options })

function narrator(options: Partial<ConstructorParameters<typeof Narrator>[0]> = {}): Narrator {
  let now = 0
  return new Narrator({ step: 0, sessionId: null, meter: meterWith(), marksSteps: false, model: 'unnamed', forgets: false, now: () => (now += 10), ...options })
}

async function tell(name: OutputFormat, all: readonly object[], options: Partial<ConstructorParameters<typeof Narrator>[0]> = {}): Promise<Report[]> {
  const { format, command } = spokenBy([name], name)
  const teller = narrator({ marksSteps: format.marksSteps, ...options })
  const reports: Report[] = []
  for (const line of all) reports.push(...await teller.see(format.read(line as Readonly<Record<string, unknown>>, command) ?? []))
  return [...reports, ...teller.end()]
}

/** A transcript of reports: one line each. */
function transcript(reports: readonly Report[]): string[] {
  return reports.map((report) => {
    switch (report.type) {
      case 'model.started': return `begin ${report.step} ${report.model}`
      case 'model.finished': return `answer ${report.step}: ${report.message.map(partWord).join(' + ')}; ${usageWord(report.usage)}`
      case 'tool.finished': return `result ${report.callId}: ${report.outcome} ${JSON.stringify(report.content)}`
      case 'usage': return `used ${usageWord(report.usage)}`
      case 'note': return `note ${report.text}`
      default: return report.type
    }
  })
}

function partWord(part: AssistantPart): string {
  return part.type === 'tool-call' ? `${part.name}(${part.callId})` : part.text
}

function usageWord({ inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens, costUsd, estimated }: Tokens & { costUsd: number | null; estimated?: boolean }): string {
  return `${inputTokens}/${outputTokens}/${cacheReadTokens}/${cacheWriteTokens} $${costUsd === null ? '?' : Number(costUsd.toFixed(6))}${estimated ? ' estimated' : ''}`
}

describe('a recorded turn', () => {
  test('of Claude Code: what its steps said is not charged again by the result', async () => {
    expect(transcript(await tell('claude', lines.CLAUDE_TOOLS))).toEqual([
      'session',
      'begin 1 served', 'answer 1: I will run it. + Bash(toolu_0) + Bash(toolu_1); 1000/1/300/20 $0',
      'result toolu_0: error "Exit code 3\\nhello"', 'result toolu_1: error "Exit code 3\\nhello"',
      'begin 2 served', 'answer 2: It is done.; 1000/1/300/20 $0',
      'used 0/98/0/0 $0.01032',
    ])
  })

  test('of Codex', async () => {
    expect(transcript(await tell('codex', lines.CODEX_TOOLS, { step: 4 }))).toEqual([
      'session', 'begin 5 unnamed', 'answer 5: I will run it. + shell(item_1); 0/0/0/0 $0', 'result item_1: ok "hello\\n"',
      'begin 6 unnamed', 'answer 6: It is done.; 0/0/0/0 $0', 'used 2000/100/600/40 $?',
    ])
  })

  test('of Gemini CLI: pieces become one text', async () => {
    expect(transcript(await tell('gemini', lines.GEMINI_TOOLS))).toEqual([
      'session', 'begin 1 gemini-2.5-pro', expect.stringMatching(/^answer 1: I will run it\. \+ run_shell_command\(\S+\); 0\/0\/0\/0 \$0$/), expect.stringMatching(/^result \S+: ok "hello"$/),
      'begin 2 gemini-2.5-pro', 'answer 2: It is done.; 0/0/0/0 $0', 'used 2040/100/600/0 $?',
    ])
  })

  test('of OpenCode: results come after the answer that asked for them', async () => {
    expect(transcript(await tell('opencode', lines.OPENCODE_TOOLS))).toEqual([
      'session', 'begin 1 unnamed', 'answer 1: I will run it. + bash(call_0); 1020/50/300/0 $0', 'result call_0: ok "hello\\n"',
      'begin 2 unnamed', 'answer 2: It is done.; 1020/50/300/0 $0',
    ])
  })

  test('ends as it says itself; the result is the last text where it does not say one', async () => {
    const ends = async (name: OutputFormat, all: readonly object[]): Promise<unknown> => {
      const { format, command } = spokenBy([name], name)
      const teller = narrator({ marksSteps: format.marksSteps })
      for (const line of all) await teller.see(format.read(line as Readonly<Record<string, unknown>>, command) ?? [])
      teller.end()
      return teller.ending
    }
    for (const [name, all] of [['claude', lines.CLAUDE_TOOLS], ['codex', lines.CODEX_TOOLS], ['gemini', lines.GEMINI_TOOLS], ['opencode', lines.OPENCODE_TOOLS]] as const) {
      expect(await ends(name, all)).toMatchObject({ error: null, result: 'It is done.' })
      expect(await ends(name, all.slice(0, 3))).toBeNull()
    }
    expect(await ends('codex', lines.CODEX_REFUSED)).toMatchObject({ error: 'bad thing' })
  })
})

const text = (words: string, answer: string | null = null): Observed => ({ type: 'part', answer, part: { type: 'text', text: words } })
const call = (callId: string, answer: string | null = null): Observed => ({ type: 'part', answer, part: { type: 'tool-call', callId, name: 'run', input: {} } })
const result = (callId: string, content = 'x'): Observed => ({ type: 'tool', callId, outcome: 'ok', content })
const used = (inputTokens: number, fields: Partial<Extract<Observed, { type: 'used' }>> = {}): Extract<Observed, { type: 'used' }> => (
  { type: 'used', span: 'step', tokens: { inputTokens, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 }, costUsd: null, ...fields }
)

describe('answers', () => {
  test('are told before their result, and when nothing comes after what they asked for', async () => {
    const teller = narrator()
    expect(await teller.see([text('a', 'm'), call('c', 'm')])).toEqual([])
    expect(transcript(teller.quiet())).toEqual(['begin 1 unnamed', 'answer 1: a + run(c); 0/0/0/0 $0'])
    expect(teller.quiet()).toEqual([])
    expect(transcript(await teller.see([result('c')]))).toEqual(['result c: ok "x"'])
  })

  test('without a call wait for what comes next', async () => {
    const teller = narrator()
    await teller.see([text('a', 'm')])
    expect(teller.quiet()).toEqual([])
    expect(transcript(await teller.see([text('b', 'n')]))).toEqual(['begin 1 unnamed', 'answer 1: a; 0/0/0/0 $0'])
  })

  test('that go on after they were told do not close the calls that run, and are charged once', async () => {
    const teller = narrator()
    await teller.see([call('c', 'm'), used(5)])
    teller.quiet()
    expect(await teller.see([call('d', 'm'), used(5)])).toEqual([])
    expect(transcript(await teller.see([result('c'), result('d')]))).toEqual(['result c: ok "x"', 'begin 2 unnamed', 'answer 2: run(d); 0/0/0/0 $0', 'result d: ok "x"'])
  })

  test('close a call that goes on in the background', async () => {
    const teller = narrator()
    await teller.see([call('c')])
    teller.quiet()
    await teller.see([text('meanwhile'), call('d')])
    expect(transcript(await teller.see([result('d'), result('c')]))).toEqual(['result c: ok "(it goes on in the background)"', 'begin 2 unnamed', 'answer 2: meanwhile + run(d); 0/0/0/0 $0', 'result d: ok "x"'])
  })

  test('have a longest length: more becomes another step', async () => {
    const teller = narrator()
    const reports = await teller.see(Array.from({ length: 2_500 }, (_, at) => call(`c${at}`, 'm')))
    expect(reports.filter(({ type }) => type === 'model.finished').length).toBe(2)
    for (const report of reports) if (report.type === 'model.finished') expect(report.message.length).toBeLessThanOrEqual(1_000)
  })

  test('a result that nobody asked for, and a result that comes twice, are nothing', async () => {
    const teller = narrator()
    expect(await teller.see([result('x')])).toEqual([])
    await teller.see([call('c')])
    await teller.see([result('c')])
    expect(await teller.see([result('c')])).toEqual([])
  })

  test('content and input are cut, and what is nested too deep is not kept', async () => {
    const teller = narrator()
    const deep: unknown = JSON.parse(`${'['.repeat(200_000)}${']'.repeat(200_000)}`)
    const part = { type: 'tool-call', callId: 'c', name: 'n'.repeat(1_000), input: deep } as const
    const big = { type: 'tool-call', callId: 'd', name: 'n', input: { text: 'x'.repeat(3_000_000) } } as const
    const reports = await teller.see([{ type: 'part', answer: null, part }, { type: 'part', answer: null, part: big }, result('c', 'y'.repeat(3_000_000))])
    expect(reports.map(({ type }) => type)).toEqual(['model.started', 'model.finished', 'tool.finished'])
    expect(JSON.stringify(reports).length).toBeLessThan(2_200_000)
    expect(JSON.stringify(reports)).toContain('nested too deep')
  })
})

describe('a session', () => {
  test('is told once, and never one that could be an option', async () => {
    const teller = narrator({ sessionId: 'known' })
    expect(await teller.see([{ type: 'session', id: 'known' }, { type: 'session', id: '--evil' }, { type: 'session', id: '' }, { type: 'session', id: 'a b' }])).toEqual([])
    expect(await teller.see([{ type: 'session', id: 'ses_1' }, { type: 'session', id: 'ses_1' }])).toEqual([{ type: 'session', sessionId: 'ses_1' }])
  })
})

test('an agent that keeps no session tells of none', async () => {
  expect(await narrator({ forgets: true }).see([{ type: 'session', id: 'ses_1' }])).toEqual([])
})

test('what a subagent used is charged once, and the result settles it', async () => {
  const teller = narrator()
  const aside = used(7, { aside: 'sub_1' })
  expect(transcript(await teller.see([aside, aside, used(9, { span: 'since', costUsd: 0.5 })]))).toEqual(['used 7/0/0/0 $0', 'used 2/0/0/0 $0.5'])
})

describe('the meter', () => {
  const charge = async (meter: Meter, ...all: Extract<Observed, { type: 'used' }>[]): Promise<string[]> => {
    const said: string[] = []
    for (const one of all) said.push(usageWord(await meter.charge(one)))
    return said
  }
  const priced = { priced: { provider: 'p', model: 'priced' } }

  test('a step costs what the list says until the agent says better', async () => {
    expect(await charge(meterWith(), used(10, priced), used(10), used(30, { span: 'since', costUsd: 0.5 }))).toEqual(['10/0/0/0 $0.01', '10/0/0/0 $0', '10/0/0/0 $0.49'])
  })

  test('each `since` begins anew', async () => {
    expect(await charge(meterWith(), used(10, { span: 'since', costUsd: 1 }), used(10, { span: 'since', costUsd: 1 }))).toEqual(['10/0/0/0 $1', '10/0/0/0 $1'])
  })

  test('totals are never added up, and nothing goes down', async () => {
    const total = (tokens: number, costUsd: number) => used(tokens, { span: 'session', costUsd })
    expect(await charge(meterWith(), total(10, 1), total(25, 1.5), total(20, 1.2))).toEqual(['10/0/0/0 $1', '15/0/0/0 $0.5', '0/0/0/0 $0'])
  })

  test('a price that nobody knows is unknown, and a listed one is that of the difference', async () => {
    const total = (tokens: number) => used(tokens, { span: 'session', ...priced })
    expect(await charge(meterWith(), total(10), total(30), used(40, { span: 'session' }))).toEqual(['10/0/0/0 $0.01', '20/0/0/0 $0.02', '10/0/0/0 $?'])
  })

  test('after a resume the total counts from what this process was charged for in that session', async () => {
    const charged = new Map([['old', { inputTokens: 10, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0, costUsd: 1 }]])
    const meter = meterWith({ charged, foreign: true })
    meter.begin('old')
    expect(await charge(meter, used(25, { span: 'session', costUsd: 1.5 }))).toEqual(['15/0/0/0 $0.5'])
    meter.begin('other')
    expect(await charge(meter, used(25, { span: 'session', costUsd: 1.5 }), used(26, { span: 'session', costUsd: 1.5 }))).toEqual(['25/0/0/0 $1.5 estimated', '1/0/0/0 $0'])
  })

  test('what was charged stands in the journal, session by session', async () => {
    const scribe = new Scribe()
    const usage = (inputTokens: number) => ({ inputTokens, outputTokens: 1, cacheReadTokens: 2, cacheWriteTokens: 3, costUsd: 0.5 })
    const uuid = uuidOf(1)
    const { facts } = scribe.spawn(uuid, undefined, { type: 'process.handle', handle: null, sessionId: 'one' }, { type: 'usage.reported', usage: usage(10) },
      { type: 'process.handle', handle: null, sessionId: 'two' }, { type: 'usage.reported', usage: { ...usage(20), costUsd: null } }, { type: 'usage.reported', usage: usage(5) })
    const charged = await chargedBefore({ history: async (after, limit) => facts.filter(({ seq }) => seq > after).slice(0, Math.min(limit, 2)) })
    expect([...charged]).toEqual([['one', { ...usage(10) }], ['two', { ...usage(25), outputTokens: 2, cacheReadTokens: 4, cacheWriteTokens: 6 }]])
  })

  test('what the gateway has counted is in the total that the agent tells when it calls its model itself again', async () => {
    const scribe = new Scribe()
    const usage = (inputTokens: number) => ({ inputTokens, outputTokens: 1, cacheReadTokens: 0, cacheWriteTokens: 0, costUsd: 0.5 })
    const finished = (call: string, tokens: number) => ({ type: 'call.finished' as const, call, usage: usage(tokens), status: 200 })
    const { facts } = scribe.spawn(uuidOf(1), undefined, finished('1-1', 10), { type: 'process.handle', handle: null, sessionId: 'one' }, finished('1-2', 20))
    const charged = await chargedBefore({ history: async (after) => facts.filter(({ seq }) => seq > after) })
    expect([...charged]).toEqual([['one', { ...usage(30), outputTokens: 2, costUsd: 1 }]])
    const meter = meterWith({ charged })
    meter.begin('one')
    expect(await charge(meter, used(35, { span: 'session', costUsd: 1.5 }))).toEqual(['5/0/0/0 $0.5'])
  })
})

test('a limit that was met counts until the agent goes on', async () => {
  const teller = narrator()
  await teller.see([{ type: 'limited', until: 5_000 }])
  expect(teller.limitedUntil).toBe(5_000)
  await teller.see([{ type: 'part', answer: 'm', part: { type: 'text', text: 'on' } }])
  expect(teller.limitedUntil).toBeNull()
})
