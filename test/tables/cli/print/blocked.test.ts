// The text about a blocked process, with the command that helps. A followed process prints it once, until it changes.
import { describe, expect, test } from 'vitest'
import type { AskView, HoldView } from '../../../../src/api/views/process.ts'
import { BlockNotices } from '../../../../src/cli/follow/block-notices.ts'
import { blockText, isSuspendedByAncestor, sharesAccountHold, type BlockableProcess } from '../../../../src/cli/print/blocked.ts'
import { Output } from '../../../../src/cli/print/output.ts'
import { makeAskView } from '../../../support/daemon/ask-view.ts'

const AT = '2026-07-01T12:00:00.000Z'
const UUID = '0198c1a2-7b54-7cc3-9d4e-5f60718293a4'
const ANCESTOR = '0198c1a2-7b54-7cc3-9d4e-00000000beef'
const makeHold = (reason: HoldView['reason'], changes: Partial<HoldView> = {}): HoldView => ({ reason, by: 'system', at: AT, ...changes })
const makeAsk = (changes: Partial<AskView> = {}): AskView => makeAskView({ id: 'a', text: 'run\nmake?', at: AT, ...changes })
const makeProcess = (changes: Partial<BlockableProcess> = {}): BlockableProcess => ({
  uuid: UUID,
  pid: 5,
  name: 'docs',
  status: 'working',
  holds: [],
  asks: [],
  note: null,
  driver: 'native',
  ...changes,
})
const suspendedBy = (note: string | null, ...holds: HoldView[]): BlockableProcess => makeProcess({ status: 'suspended', note, holds })
const YES = { id: 'y', name: 'Yes', kind: 'allow_once' as const }
const NO = { id: 'n', name: 'No', kind: 'reject_once' as const }

const crewWithAsks = (...ids: string[]): BlockableProcess =>
  makeProcess({ driver: 'crew', status: 'waiting', asks: ids.map((id) => makeAsk({ id, options: [YES, NO] })) })

describe('the text about a blocked process', () => {
  test.each<[string, BlockableProcess, string | null]>([
    ['a working process, which is not blocked', makeProcess({ note: 'context: 80 % are used' }), null],
    [
      'a process that the user paused',
      suspendedBy('paused: by user (draining)', makeHold('user', { by: 'user' })),
      'PID 5 (docs) is suspended by user; `reeve resume 5` continues it',
    ],
    [
      'the root of a paused subtree',
      suspendedBy('paused: subtree', makeHold('subtree', { root: UUID })),
      'PID 5 (docs) is suspended: subtree; `reeve resume --subtree 5` continues it',
    ],
    [
      'a process that is paused with its parent',
      suspendedBy('paused: subtree', makeHold('subtree', { root: ANCESTOR })),
      'PID 5 (docs) is suspended: subtree; `reeve resume 5` continues it',
    ],
    [
      'a process that is held for a loop',
      suspendedBy('paused: loop (12 times the same: bash)', makeHold('loop')),
      'PID 5 (docs) is suspended: loop (12 times the same: bash); `reeve resume 5` continues it, with a new count; `reeve steps 5` shows what it did',
    ],
    [
      'a process that is held for failing tools',
      suspendedBy('paused: failing tools (8 of 10)', makeHold('breaker')),
      'PID 5 (docs) is suspended: failing tools (8 of 10); `reeve resume 5` continues it, with a new count; `reeve logs --tail 40 5` shows what failed',
    ],
    [
      'a process whose budget is used up',
      suspendedBy('paused: budget (budget: $1 of $1 are spent)', makeHold('budget', { limit: 'budgetUsd', scope: UUID })),
      'PID 5 (docs) is suspended: budget (budget: $1 of $1 are spent); `reeve resume --budget-usd +X 5` continues it',
    ],
    [
      "a process whose parent's budget is used up",
      suspendedBy('paused: budget', makeHold('budget', { limit: 'budgetTokens', scope: ANCESTOR })),
      'PID 5 (docs) is suspended: budget; `reeve resume --budget-tokens +N 0000beef` continues it',
    ],
    [
      'a process whose steps are used up',
      suspendedBy('paused: budget', makeHold('budget', { limit: 'maxSteps', scope: UUID })),
      'PID 5 (docs) is suspended: budget; `reeve resume --max-steps +N 5` continues it',
    ],
    [
      'a limit that no flag can raise',
      suspendedBy('paused: budget', makeHold('budget', { limit: 'maxInputTokens', scope: UUID })),
      'PID 5 (docs) is suspended: budget; more of `maxInputTokens` (docs/reference/limits.md) continues it',
    ],
    [
      'a process that waits for the open calls of other processes',
      suspendedBy('paused: budget', makeHold('budget')),
      'PID 5 (docs) is suspended: budget; it continues when there is room again; `reeve inspect 5` shows its limits',
    ],
    [
      'a paused process without budget: the budget comes first, because a resume alone does not help',
      suspendedBy('paused: by user, budget', makeHold('user', { by: 'user' }), makeHold('budget', { limit: 'budgetUsd', scope: UUID })),
      'PID 5 (docs) is suspended by user, budget; `reeve resume --budget-usd +X 5` continues it',
    ],
    [
      'a process that lacks a key',
      suspendedBy('paused: credentials', makeHold('credentials')),
      'PID 5 (docs) is suspended: credentials; `reeve resume 5` in a shell with the key continues it',
    ],
    [
      'a process whose key the provider refuses, for example because its account has no credit',
      suspendedBy('paused: credentials (K was refused: openai: 402 no credit)', makeHold('credentials')),
      'PID 5 (docs) is suspended: credentials (K was refused: openai: 402 no credit); `reeve resume 5` continues it when the account is in order, or in a shell with another key',
    ],
    [
      'a process with a full context',
      suspendedBy('paused: full context', makeHold('context-full')),
      'PID 5 (docs) is suspended: full context; `reeve resume 5` tries again; after `reeve stop 5` it can resume with a larger --model',
    ],
    [
      'a process that stays paused after its rate limit',
      suspendedBy('paused: rate limit until 14:00', makeHold('rate-limit', { until: AT })),
      'PID 5 (docs) is suspended: rate limit until 14:00; `reeve resume 5` continues it then, or tries now; `run --wake` does so automatically',
    ],
    [
      'a process that wakes after its rate limit',
      suspendedBy('paused: rate limit until 14:00', makeHold('rate-limit', { until: AT, wake: true })),
      'PID 5 (docs) is suspended: rate limit until 14:00; it continues by itself then; `reeve resume 5` tries now',
    ],
    [
      'a paused crew',
      { ...suspendedBy('paused: by user', makeHold('user', { by: 'user' })), driver: 'crew' },
      'PID 5 (docs) is suspended by user; `reeve crew resume docs` continues it',
    ],
    [
      'a crew whose budget is used up',
      { ...suspendedBy('paused: budget', makeHold('budget', { limit: 'budgetTokens', scope: UUID })), driver: 'crew' },
      'PID 5 (docs) is suspended: budget; `reeve resume --budget-tokens +N 5` continues it',
    ],
    [
      'a process that asks for a text',
      makeProcess({ status: 'waiting', asks: [makeAsk()] }),
      'PID 5 (docs) asks: run make?; `reeve answer 5 TEXT` answers',
    ],
    [
      'a crew that asks about a change',
      crewWithAsks('lexer.1'),
      'PID 5 (docs) asks: run make? 1 Yes 2 No; `reeve crew approve docs lexer` or `reeve crew deny docs lexer TEXT` answers, `reeve crew diff docs lexer` shows the change',
    ],
    [
      'a crew that asks about two changes',
      crewWithAsks('v1.2.1', 'b.4'),
      'PID 5 (docs) asks: run make? 1 Yes 2 No (and 1 more: `reeve answer 5` lists them); `reeve crew approve docs v1.2` or `reeve crew deny docs v1.2 TEXT` answers, `reeve crew diff docs v1.2` shows the change',
    ],
    [
      'a crew whose name would need quotes in a shell',
      { ...crewWithAsks('lexer.1'), name: 'a b; rm' },
      'PID 5 (a b; rm) asks: run make? 1 Yes 2 No; `reeve crew approve 5 lexer` or `reeve crew deny 5 lexer TEXT` answers, `reeve crew diff 5 lexer` shows the change',
    ],
    [
      'a crew with a task for the user',
      makeProcess({ driver: 'crew', status: 'waiting', asks: [makeAsk({ id: 'which.1' })] }),
      'PID 5 (docs) asks: run make?; `reeve answer docs TEXT` answers',
    ],
    [
      'a crew with a task for the user that also asks about a change',
      makeProcess({ driver: 'crew', status: 'waiting', asks: [makeAsk({ id: 'which.1' }), makeAsk({ id: 'b.1', options: [YES, NO] })] }),
      'PID 5 (docs) asks: run make? (and 1 more: `reeve answer 5` lists them); `reeve answer --ask which docs TEXT` answers',
    ],
    [
      'a process that asks with options',
      makeProcess({ status: 'waiting', asks: [makeAsk({ options: [YES, NO] })] }),
      'PID 5 (docs) asks: run make? 1 Yes 2 No; `reeve answer 5 NUMBER` answers',
    ],
    [
      'a process with two questions',
      makeProcess({ status: 'waiting', asks: [makeAsk({ options: [YES, NO] }), makeAsk()] }),
      'PID 5 (docs) asks: run make? 1 Yes 2 No (and 1 more: `reeve answer 5` lists them); `reeve answer --ask 1 5 NUMBER` answers',
    ],
    [
      'a suspended process with a question, which has to be resumed first',
      { ...suspendedBy('paused: by user', makeHold('user', { by: 'user' })), asks: [makeAsk()] },
      'PID 5 (docs) is suspended by user; `reeve resume 5` continues it',
    ],
    ['a stopping process, whose question is void', makeProcess({ status: 'stopping', asks: [makeAsk()] }), null],
  ])('names the cause and the next command, if the user can act: %s', (_, process, expected) => {
    expect(blockText(process)?.replaceAll(/\s+/g, ' ') ?? null).toBe(expected)
  })

  test('does not exist if only a suspended ancestor blocks the process', () => {
    const crew = { ...suspendedBy('paused: budget', makeHold('budget', { limit: 'budgetUsd', scope: ANCESTOR })), uuid: ANCESTOR }
    const member = suspendedBy('paused: budget', makeHold('budget', { limit: 'budgetUsd', scope: ANCESTOR }))
    expect([
      isSuspendedByAncestor(member, [crew, member]),
      isSuspendedByAncestor(crew, [crew, member]),
      isSuspendedByAncestor(member, [{ ...crew, status: 'working' }, member]),
    ]).toEqual([true, false, false])
    expect(isSuspendedByAncestor(suspendedBy(null, makeHold('user'), makeHold('subtree', { root: ANCESTOR })), [crew])).toBe(false)
  })

  test('a member with the refused key of its suspended crew needs no notice of its own', () => {
    const account = (changes: Partial<BlockableProcess>, ...holds: HoldView[]): BlockableProcess => ({
      ...suspendedBy(null, ...holds),
      ...changes,
    })
    const crew = account({ uuid: ANCESTOR, driver: 'crew' }, makeHold('credentials'))
    const member = account({}, makeHold('credentials'))
    expect([
      sharesAccountHold(member, [crew, member]),
      sharesAccountHold(crew, [crew, member]),
      sharesAccountHold(member, [{ ...crew, holds: [makeHold('user')] }, member]),
      sharesAccountHold(account({}, makeHold('credentials'), makeHold('loop')), [crew]),
    ]).toEqual([true, false, false, false])
  })
})

describe('notices', () => {
  function collectNotices(isQuiet = false): { notices: BlockNotices; lines: () => string[] } {
    const lines: string[] = []
    const stream = { isTTY: false, write: (text: string) => lines.push(text) > 0, listenerCount: () => 1 } as unknown as NodeJS.WriteStream
    return {
      notices: new BlockNotices(
        new Output({ json: false, quiet: isQuiet, color: false }, { LANG: 'C.UTF-8' }, { stdout: stream, stderr: stream }),
      ),
      lines: () => lines.splice(0),
    }
  }
  const suspendedProcess = suspendedBy('paused: by user', makeHold('user', { by: 'user' }))

  test('are printed once, again after a change, and when the block has ended', async () => {
    const { notices, lines } = collectNotices()
    await notices.report([makeProcess()])
    expect(lines()).toEqual([])
    await notices.report([suspendedProcess])
    await notices.report([suspendedProcess])
    expect(lines()).toEqual(['  ⏸ PID 5 (docs) is suspended by user\n  `reeve resume 5` continues it\n'])
    await notices.report([suspendedBy('paused: loop (x)', makeHold('loop'))])
    expect(lines()).toHaveLength(1)
    await notices.report([makeProcess()])
    await notices.report([makeProcess()])
    expect(lines()).toEqual(['  PID 5 (docs) goes on\n'])
    await notices.report([suspendedProcess])
    await notices.report([makeProcess({ status: 'stopped' })])
    expect(lines()).toHaveLength(1)
  })

  test('show a question with its options on separate lines, and make hostile text safe', async () => {
    const { notices, lines } = collectNotices()
    await notices.report([makeProcess({ status: 'waiting', asks: [makeAsk({ text: 'clear \x1b[2J?', options: [YES, NO] })] })])
    expect(lines()).toEqual(['  PID 5 (docs) asks: clear ?\n    1 Yes\n    2 No\n  `reeve answer 5 NUMBER` answers\n'])
  })

  test('are not printed with -q', async () => {
    const { notices, lines } = collectNotices(true)
    await notices.report([suspendedProcess])
    expect(lines()).toEqual([])
  })
})
