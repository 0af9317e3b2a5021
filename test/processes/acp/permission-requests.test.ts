// Requests of an ACP agent for permission: rules that answer at once, the user's answers, an interruption, a withdrawal, forms.
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { openAcpHarness } from '../../support/agents/acp-harness.ts'
import { waitUntil } from '../../support/wait-until.ts'
import type { AcpHarness } from '../../support/agents/acp-harness.ts'
import type { SpecChanges } from '../../support/spec-changes.ts'

let harness: AcpHarness

beforeEach(async () => {
  harness = await openAcpHarness()
})
afterEach(async () => {
  await harness[Symbol.asyncDispose]()
})

describe('a rule', () => {
  test.each<[string, SpecChanges, string, string]>([
    ['that allows everything allows the call', { permissions: { default: 'allow' } }, 'yes', 'ok'],
    ['that denies everything denies the call', { permissions: { default: 'deny' } }, 'no', 'denied'],
    [
      'for the kind of the call has precedence over the default',
      { permissions: { default: 'deny', tools: { execute: 'allow' } } },
      'yes',
      'ok',
    ],
    [
      'for the title of the call has precedence over that for its kind',
      { permissions: { default: 'ask', tools: { execute: 'allow', 'rm x': 'deny' } } },
      'no',
      'denied',
    ],
    ["for reeve's own name of the tool applies", { permissions: { default: 'deny', tools: { bash: 'allow' } } }, 'yes', 'ok'],
    ['that allows everything does not allow a denied tool', { permissions: { default: 'allow' }, deny: ['bash'] }, 'no', 'denied'],
  ])('%s', async (_, spec, answer, outcome) => {
    const run = await harness.start({ spec })
    await run.runTurn('ask execute rm x')
    expect(run.kernel.reportsOf('waiting')).toEqual([])
    expect(run.readLogLines()).toContain(`answer: ${answer}`)
    expect(run.kernel.factsOf('tool.finished')).toMatchObject([{ outcome, content: `answer: ${answer}` }])
    expect(run.kernel.factsOf('process.note').map(({ text }) => text)).toEqual([`${answer === 'yes' ? 'allowed' : 'denied'} by rule: rm x`])
  })
})

describe('the mode in which the agent asks', () => {
  const askingSpec: SpecChanges = { permissions: { default: 'ask' }, mode: 'default' }

  test.each([
    ['a mode of the protocol', 'modes=auto', 'mode default'],
    ['an option of the session', 'mode-option', 'mode default'],
  ])('is set before the first turn, and again when the agent leaves it (%s)', async (_, modeOption, expectedLine) => {
    const run = await harness.start({
      agentOptions: [modeOption, ...(modeOption === 'mode-option' ? ['modes=auto'] : [])],
      spec: askingSpec,
    })
    await run.waitUntilUp()
    expect(run.readLogLines()).toContain(expectedLine)
    await run.runTurn('mode auto\nsay on')
    await waitUntil(() => run.readLogLines().filter((line) => line === expectedLine).length === 2, 'the mode is set again')
    await waitUntil(
      () =>
        run.kernel
          .factsOf('process.note')
          .some(({ text }) => text === 'put back into the mode default: its permissions do not hold in the mode auto'),
      'that is reported',
    )
  })

  test('is checked: a mode that the agent does not accept is an error', async () => {
    const run = await harness.start({ agentOptions: ['mode-option', 'modes=auto', 'stubborn'], spec: askingSpec })
    expect(await run.waitForExit()).toMatchObject({ error: expect.stringContaining('it was asked to use the mode default, but uses auto') })
  })

  test('that cannot be set again ends the agent', async () => {
    const run = await harness.start({ agentOptions: ['modes', 'stubborn'], spec: askingSpec })
    await run.waitUntilUp()
    await run.send('mode auto\nslow')
    expect(await run.waitForExit()).toMatchObject({
      error: expect.stringMatching(/^it went into the mode auto, in which its permissions do not hold, and could not be put back: /),
    })
  })

  test('does not matter if everything is allowed', async () => {
    const run = await harness.start({ agentOptions: ['modes'], spec: { permissions: { default: 'allow' }, mode: 'default' } })
    await run.runTurn('mode auto\nsay on')
    expect(run.readLogLines().filter((line) => line.startsWith('mode '))).toEqual([])
    expect(run.kernel.factsOf('process.note').map(({ text }) => text)).toEqual(['mode: auto'])
  })
})

describe('a forbidden action', () => {
  const paths = { read: ['/usr', '/tmp/x'], write: ['/tmp/x'] }

  test.each<[string, SpecChanges, string, string | null]>([
    ['a denied tool', { deny: ['bash'] }, 'execute rm x', 'rm x'],
    ['a tool that is not in its list', { tools: ['read'] }, 'fetch http://x', 'http://x'],
    [
      'a file where it may not write',
      { capabilities: { paths } },
      'edit /usr/lib/x',
      '/usr/lib/x may not be written: only what is below /tmp/x',
    ],
    [
      'a file where it may not read',
      { capabilities: { paths } },
      'read /etc/passwd',
      '/etc/passwd may not be read: only what is below /usr, /tmp/x',
    ],
    [
      'a file where it may not write, by a path with ..',
      { capabilities: { paths } },
      'edit /tmp/x/../y',
      '/tmp/y may not be written: only what is below /tmp/x',
    ],
    [
      'a call of an unknown kind',
      { capabilities: { paths } },
      'other /usr/lib/x',
      '/usr/lib/x may not be written: only what is below /tmp/x',
    ],
  ])('%s is refused in spite of rules that allow it', async (_, spec, question, detail) => {
    const run = await harness.start({ spec: { permissions: { default: 'allow' }, ...spec } })
    await run.runTurn(`ask ${question}`)
    expect(run.readLogLines()).toContain('answer: no')
    expect(run.kernel.factsOf('capability.refused')).toMatchObject([{ detail }])
    expect(run.kernel.factsOf('capability.refused')[0]?.callId).toBe(run.kernel.factsOf('tool.started')[0]?.callId)
  })

  test('does not include a call within the allowed paths; the user is asked about a call of an unknown path', async () => {
    const run = await harness.start({ spec: { permissions: { default: 'allow' }, capabilities: { paths } } })
    await run.runTurn('ask edit /tmp/x/y\nask read /usr/lib/x')
    expect(run.readLogLines().filter((line) => line.startsWith('answer'))).toEqual(['answer: yes', 'answer: yes'])
    await run.send('ask edit something')
    const question = await run.waitForAsk()
    await run.agent.answer?.({ id: question.id, option: 'no', text: null })
    await run.kernel.waitForTurnEnd()
    expect(run.kernel.factsOf('capability.refused')).toEqual([])
  })
})

describe('the user', () => {
  test.each([
    ['yes', 'ok'],
    ['always', 'ok'],
    ['no', 'denied'],
  ])('answers %s', async (option, outcome) => {
    const run = await harness.start()
    await run.waitUntilUp()
    await run.send('say may I\nask execute rm x\nsay thanks')
    const question = await run.waitForAsk()
    expect(question).toMatchObject({
      id: '1-1',
      kind: 'permission',
      text: 'rm x (execute)\n{"command":"rm x"}',
      options: [
        { id: 'yes', name: 'Allow', kind: 'allow_once' },
        { id: 'always', name: 'Always', kind: 'allow_always' },
        { id: 'no', name: 'Reject', kind: 'reject_once' },
      ],
    })
    // The call is recorded before the user is asked.
    expect(run.kernel.factsOf('tool.started')).toMatchObject([{ callId: question.callId }])
    await run.agent.answer?.({ id: question.id, option, text: null })
    await run.kernel.waitForTurnEnd()
    expect(run.kernel.factsOf('tool.finished')).toMatchObject([{ outcome, content: `answer: ${option}` }])
    expect(run.kernel.reportsOf('unasked')).toEqual([])
  })

  test('answers two questions in any order', async () => {
    const run = await harness.start()
    await run.waitUntilUp()
    await run.send('ask-twice execute rm')
    await run.waitForAsk(2)
    const [firstId, secondId] = run.kernel.reportsOf('waiting').map(({ report }) => report.ask.id)
    await run.agent.answer?.({ id: secondId ?? '', option: 'no', text: null })
    await run.agent.answer?.({ id: 'nothing', option: 'no', text: null })
    await run.agent.answer?.({ id: firstId ?? '', option: 'yes', text: null })
    await run.kernel.waitForTurnEnd()
    expect(run.readLogLines().filter((line) => line.startsWith('answer'))).toEqual(['answer: no', 'answer: yes'])
  })

  test('interrupts: the open question gets the answer `cancelled`', async () => {
    const run = await harness.start()
    await run.waitUntilUp()
    await run.send('ask execute rm x')
    const question = await run.waitForAsk()
    await run.agent.interrupt()
    await run.kernel.waitForTurnEnd()
    expect(run.readLogLines()).toContain('answer: cancelled')
    expect(run.kernel.reportsOf('unasked').map(({ report }) => report.id)).toEqual([question.id])
    expect(run.kernel.reportsOf('turn.ended').at(-1)?.report.outcome).toBe('interrupted')
    await run.send('ask execute rm y')
    const next = await run.waitForAsk(2)
    await run.agent.answer?.({ id: next.id, option: 'yes', text: null })
    await run.kernel.waitForTurnEnd()
  })

  test('no longer has to answer a question that the agent withdraws', async () => {
    const run = await harness.start()
    await run.runTurn('ask-and-go rm x')
    const [questionReport] = run.kernel.reportsOf('waiting')
    expect(run.kernel.reportsOf('unasked').map(({ report }) => report.id)).toEqual([questionReport?.report.ask.id])
  })
})

describe('a form', () => {
  test.each([
    [
      'with a choice',
      '{"colour":{"type":"string","enum":["red","blue"]}}',
      ['red', 'blue'],
      { option: 'blue', text: null },
      { action: 'accept', content: { colour: 'blue' } },
    ],
    [
      'with yes and no',
      '{"sure":{"type":"boolean"}}',
      ['true', 'false'],
      { option: 'true', text: null },
      { action: 'accept', content: { sure: true } },
    ],
    ['with a text', '{"why":{"type":"string"}}', [], { option: null, text: 'because' }, { action: 'accept', content: { why: 'because' } }],
    [
      'with more than one field',
      '{"why":{"type":"string"},"n":{"type":"integer"}}',
      [],
      { option: null, text: '{"why":"x","n":2,"other":1}' },
      { action: 'accept', content: { why: 'x', n: 2 } },
    ],
  ])('%s is a question', async (_, form, options, answer, expected) => {
    const run = await harness.start()
    await run.waitUntilUp()
    await run.send(`elicit ${form}`)
    const question = await run.waitForAsk()
    expect(question).toMatchObject({ kind: 'question', callId: null })
    expect(question.options.map(({ id }) => id)).toEqual(options)
    await run.agent.answer?.({ id: question.id, ...answer })
    await run.kernel.waitForTurnEnd()
    expect(JSON.parse(String(run.kernel.factsOf('process.ready').at(-1)?.result))).toEqual(expected)
  })

  test('with a wrong answer is asked again', async () => {
    const run = await harness.start()
    await run.waitUntilUp()
    await run.send('elicit {"n":{"type":"integer"}}')
    const question = await run.waitForAsk()
    await run.agent.answer?.({ id: question.id, option: null, text: 'many' })
    const secondQuestion = await run.waitForAsk(2)
    expect(secondQuestion.text).toBe('Which?\n(the last answer did not fit)')
    await run.agent.answer?.({ id: secondQuestion.id, option: null, text: '3' })
    await run.kernel.waitForTurnEnd()
    expect(JSON.parse(String(run.kernel.factsOf('process.ready').at(-1)?.result))).toEqual({ action: 'accept', content: { n: 3 } })
  })
})
