// The view of an ask: its evidence in the API's form, an ask of an earlier version, which has no evidence, and what the hash covers.
import { describe, expect, test } from 'vitest'
import { askHash, askView } from '../../../../src/daemon/views/ask-view.ts'
import type { Ask, AskEvidence } from '../../../../src/kernel/model/asks.ts'

const OLD: Ask = { id: '1-1', kind: 'permission', text: 'bash: ls', options: [], callId: 'c1', at: 0 }
const EVIDENCE: AskEvidence = {
  source: 'recorded',
  tool: { name: 'edit', kind: 'edit', input: { path: 'a.ts' }, locations: ['a.ts'] },
  diff: [{ path: 'a.ts', old: 'a', new: 'b' }],
}
const NEW: Ask = {
  ...OLD,
  evidence: EVIDENCE,
  step: 3,
  message: 'I fix it.',
  options: [{ id: 'allow', name: 'Allow', kind: 'allow_once' }],
}

test('an ask of an earlier version has a hash, but no evidence', () => {
  expect(askView(OLD)).toMatchObject({ callId: 'c1', step: null, message: null, source: null, tool: null, diff: [], moreFiles: 0 })
  expect(askView(OLD).hash).toMatch(/^[0-9a-f]{32}$/)
})

test('an ask has its evidence in the form of the API', () => {
  expect(askView(NEW)).toMatchObject({
    step: 3,
    message: 'I fix it.',
    source: 'recorded',
    tool: { name: 'edit', kind: 'edit', input: { path: 'a.ts' }, cut: false, locations: ['a.ts'] },
    diff: [{ path: 'a.ts', old: 'a', new: 'b', oldKnown: true, equalBefore: 0, equalAfter: 0, cut: 0 }],
  })
})

describe('the hash', () => {
  const withTool = (changes: Partial<AskEvidence['tool']>): Ask => ({
    ...NEW,
    evidence: { ...EVIDENCE, tool: { ...EVIDENCE.tool, ...changes } },
  })
  const withDiff = (changes: Partial<AskEvidence['diff'][number]>): Ask => ({
    ...NEW,
    evidence: { ...EVIDENCE, diff: [{ path: 'a.ts', old: 'a', new: 'b', ...changes }] },
  })

  test.each<readonly [string, Ask]>([
    ['kind', { ...NEW, kind: 'plan' }],
    ['text', { ...NEW, text: 'bash: ls -a' }],
    ['id of an option', { ...NEW, options: [{ id: 'allow-all', name: 'Allow', kind: 'allow_once' }] }],
    ['name of an option', { ...NEW, options: [{ id: 'allow', name: 'Deny', kind: 'allow_once' }] }],
    ['kind of an option', { ...NEW, options: [{ id: 'allow', name: 'Allow', kind: 'allow_always' }] }],
    ['number of options', { ...NEW, options: [] }],
    ['evidence', { ...OLD, options: NEW.options }],
    ['source', { ...NEW, evidence: { ...EVIDENCE, source: 'said' } }],
    ['tool', withTool({ name: 'write' })],
    ['input', withTool({ input: { path: 'b.ts' } })],
    ['mark of a cut input', withTool({ isCut: true })],
    ['locations', withTool({ locations: [] })],
    ['path of a diff', withDiff({ path: 'b.ts' })],
    ['old text', withDiff({ old: null })],
    ['new text', withDiff({ new: 'c' })],
    ['known old text', withDiff({ isOldUnknown: true })],
    ['cut of a diff', withDiff({ cut: 1 })],
    ['equal lines', withDiff({ equal: { before: 1, after: 0 } })],
    ['further files', { ...NEW, evidence: { ...EVIDENCE, moreFiles: 1 } }],
  ])('changes with the %s', (_, changed) => {
    expect(askHash(changed)).not.toBe(askHash(NEW))
  })

  test.each<readonly [string, Ask]>([
    ['id', { ...NEW, id: '1-2' }],
    ['time', { ...NEW, at: 9 }],
    ['id of the call', { ...NEW, callId: 'c2' }],
  ])('does not change with the %s, because the user does not decide by it', (_, same) => {
    expect(askHash(same)).toBe(askHash(NEW))
  })
})
