// What an agent that speaks ACP asks: rules that answer at once, a person who answers, an interruption, a withdrawal, forms.
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { ProcessSpec } from '../../src/kernel/types.ts'
import { acpBench } from '../support/acp-bench.ts'
import type { AcpBench } from '../support/acp-bench.ts'

let bench: AcpBench

beforeEach(async () => { bench = await acpBench() })
afterEach(async () => { await bench[Symbol.asyncDispose]() })

describe('a rule', () => {
  test.each<[string, Partial<ProcessSpec>, string, string]>([
    ['that allows all', { permissions: { default: 'allow' } }, 'yes', 'ok'],
    ['that denies all', { permissions: { default: 'deny' } }, 'no', 'denied'],
    ['for its kind', { permissions: { default: 'deny', tools: { execute: 'allow' } } }, 'yes', 'ok'],
    ['for its title, before that for its kind', { permissions: { default: 'ask', tools: { execute: 'allow', 'rm x': 'deny' } } }, 'no', 'denied'],
    ['for reeve\'s own name of it', { permissions: { default: 'deny', tools: { bash: 'allow' } } }, 'yes', 'ok'],
    ['and a denied tool, whatever is allowed', { permissions: { default: 'allow' }, deny: ['bash'] }, 'no', 'denied'],
  ])('%s', async (_, spec, answer, outcome) => {
    const run = await bench.start({ spec })
    await run.turn('ask execute rm x')
    expect(run.kernel.reports('waiting')).toEqual([])
    expect(run.noted()).toContain(`answer: ${answer}`)
    expect(run.kernel.of('tool.finished')).toMatchObject([{ outcome, content: `answer: ${answer}` }])
    expect(run.kernel.of('process.note').map(({ text }) => text)).toEqual([`${answer === 'yes' ? 'allowed' : 'denied'} by rule: rm x`])
  })
})

describe('what it may not do', () => {
  const paths = { read: ['/usr', '/tmp/x'], write: ['/tmp/x'] }

  test.each<[string, Partial<ProcessSpec>, string, string | null]>([
    ['a denied tool', { deny: ['bash'] }, 'execute rm x', 'rm x'],
    ['a tool that is not in its list', { tools: ['read'] }, 'fetch http://x', 'http://x'],
    ['a file where it may not write', { capabilities: { paths } }, 'edit /usr/lib/x', '/usr/lib/x may not be written: only what is below /tmp/x'],
    ['a file where it may not read', { capabilities: { paths } }, 'read /etc/passwd', '/etc/passwd may not be read: only what is below /usr, /tmp/x'],
    ['by .., too', { capabilities: { paths } }, 'edit /tmp/x/../y', '/tmp/y may not be written: only what is below /tmp/x'],
    ['a thing of no known kind', { capabilities: { paths } }, 'other /usr/lib/x', '/usr/lib/x may not be written: only what is below /tmp/x'],
  ])('%s is refused, whatever is allowed', async (_, spec, asked, detail) => {
    const run = await bench.start({ spec: { permissions: { default: 'allow' }, ...spec } })
    await run.turn(`ask ${asked}`)
    expect(run.noted()).toContain('answer: no')
    expect(run.kernel.of('capability.refused')).toMatchObject([{ detail }])
    expect(run.kernel.of('capability.refused')[0]?.callId).toBe(run.kernel.of('tool.started')[0]?.callId)
  })

  test('what is within its places is allowed by the rule, and a person is asked where nobody knows where it is', async () => {
    const run = await bench.start({ spec: { permissions: { default: 'allow' }, capabilities: { paths } } })
    await run.turn('ask edit /tmp/x/y\nask read /usr/lib/x')
    expect(run.noted().filter((line) => line.startsWith('answer'))).toEqual(['answer: yes', 'answer: yes'])
    await run.send('ask edit something')
    const ask = await run.asked()
    await run.agent.answer?.({ id: ask.id, option: 'no', text: null })
    await run.kernel.ended()
    expect(run.kernel.of('capability.refused')).toEqual([])
  })
})

describe('a person', () => {
  test.each([['yes', 'ok'], ['always', 'ok'], ['no', 'denied']])('answers %s', async (option, outcome) => {
    const run = await bench.start()
    await run.up()
    await run.send('say may I\nask execute rm x\nsay thanks')
    const ask = await run.asked()
    expect(ask).toMatchObject({
      id: '1-1', kind: 'permission', text: 'rm x (execute)\n{"command":"rm x"}',
      options: [{ id: 'yes', name: 'Allow', kind: 'allow_once' }, { id: 'always', name: 'Always', kind: 'allow_always' }, { id: 'no', name: 'Reject', kind: 'reject_once' }],
    })
    // What it wants to do is recorded before anybody is asked.
    expect(run.kernel.of('tool.started')).toMatchObject([{ callId: ask.callId }])
    await run.agent.answer?.({ id: ask.id, option, text: null })
    await run.kernel.ended()
    expect(run.kernel.of('tool.finished')).toMatchObject([{ outcome, content: `answer: ${option}` }])
    expect(run.kernel.reports('unasked')).toEqual([])
  })

  test('answers two questions in the order of his choice', async () => {
    const run = await bench.start()
    await run.up()
    await run.send('ask-twice execute rm')
    await run.asked(2)
    const [one, two] = run.kernel.reports('waiting').map(({ report }) => report.ask.id)
    await run.agent.answer?.({ id: two ?? '', option: 'no', text: null })
    await run.agent.answer?.({ id: 'nothing', option: 'no', text: null })
    await run.agent.answer?.({ id: one ?? '', option: 'yes', text: null })
    await run.kernel.ended()
    expect(run.noted().filter((line) => line.startsWith('answer'))).toEqual(['answer: no', 'answer: yes'])
  })

  test('interrupts: what is asked is answered `cancelled`', async () => {
    const run = await bench.start()
    await run.up()
    await run.send('ask execute rm x')
    const ask = await run.asked()
    await run.agent.interrupt()
    await run.kernel.ended()
    expect(run.noted()).toContain('answer: cancelled')
    expect(run.kernel.reports('unasked').map(({ report }) => report.id)).toEqual([ask.id])
    expect(run.kernel.reports('turn.ended').at(-1)?.report.outcome).toBe('interrupted')
    await run.send('ask execute rm y')
    const next = await run.asked(2)
    await run.agent.answer?.({ id: next.id, option: 'yes', text: null })
    await run.kernel.ended()
  })

  test('is not asked any more when the agent no longer wants to know', async () => {
    const run = await bench.start()
    await run.turn('ask-and-go rm x')
    const [asked] = run.kernel.reports('waiting')
    expect(run.kernel.reports('unasked').map(({ report }) => report.id)).toEqual([asked?.report.ask.id])
  })
})

describe('a form', () => {
  test.each([
    ['with a choice', '{"colour":{"type":"string","enum":["red","blue"]}}', ['red', 'blue'], { option: 'blue', text: null }, { action: 'accept', content: { colour: 'blue' } }],
    ['with yes and no', '{"sure":{"type":"boolean"}}', ['true', 'false'], { option: 'true', text: null }, { action: 'accept', content: { sure: true } }],
    ['with a text', '{"why":{"type":"string"}}', [], { option: null, text: 'because' }, { action: 'accept', content: { why: 'because' } }],
    ['with more than one field', '{"why":{"type":"string"},"n":{"type":"integer"}}', [], { option: null, text: '{"why":"x","n":2,"other":1}' }, { action: 'accept', content: { why: 'x', n: 2 } }],
  ])('%s is a question', async (_, form, options, answer, expected) => {
    const run = await bench.start()
    await run.up()
    await run.send(`elicit ${form}`)
    const ask = await run.asked()
    expect(ask).toMatchObject({ kind: 'question', callId: null })
    expect(ask.options.map(({ id }) => id)).toEqual(options)
    await run.agent.answer?.({ id: ask.id, ...answer })
    await run.kernel.ended()
    expect(JSON.parse(String(run.kernel.of('process.ready').at(-1)?.result))).toEqual(expected)
  })

  test('that is filled in wrongly is asked again', async () => {
    const run = await bench.start()
    await run.up()
    await run.send('elicit {"n":{"type":"integer"}}')
    const ask = await run.asked()
    await run.agent.answer?.({ id: ask.id, option: null, text: 'many' })
    const again = await run.asked(2)
    expect(again.text).toBe('Which?\n(the last answer did not fit)')
    await run.agent.answer?.({ id: again.id, option: null, text: '3' })
    await run.kernel.ended()
    expect(JSON.parse(String(run.kernel.of('process.ready').at(-1)?.result))).toEqual({ action: 'accept', content: { n: 3 } })
  })
})
