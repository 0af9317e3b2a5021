// Compares the index of brief steps with rows that are made afresh from the whole journal. The random histories have long texts, images,
// holds, questions and forks, and are read at random moments while they grow.
import { expect, test } from 'vitest'
import { BriefSteps, type BriefStep } from '../../src/daemon/steps/brief-steps.ts'
import { StepReads } from '../../src/daemon/steps/step-reads.ts'
import { EventLoopTurns } from '../../src/drivers/common/event-loop-turns.ts'
import { deep } from '../support/deep.ts'
import { seededRandom } from '../support/random.ts'
import { SEED } from '../support/seed.ts'
import { CommitMaker, modelFinished, uuidOf } from '../support/store/facts.ts'
import { openTestStore } from '../support/store/test-store.ts'
import type { BriefStepsView } from '../../src/api/views/steps.ts'
import type { FactBody, StoredFact } from '../../src/kernel/model/facts.ts'
import type { Store } from '../../src/store/store.ts'

const HISTORIES = deep(6, 40)
const COMMITS = deep(40, 300)
const [A, B] = [uuidOf(1), uuidOf(2)]

/** Makes the facts of the next step, sometimes with a failed attempt, a hold, a question, images or recorded files. */
function nextFacts(random: () => number, step: number): FactBody[] {
  const length = random() < 0.2 ? 20_000 : 30
  const text = `${'word '.repeat(length / 5)}${step}`
  const pick = Math.floor(random() * 8)
  const hold = { reason: 'user', by: 'user', at: 0 } as const
  const calls = Array.from({ length: Math.floor(random() * 3) }, (_, index) => `c${step}.${index}`)
  const [made] = modelFinished(step, text)
  const message = made?.type === 'model.finished' ? made : null
  return [
    { type: 'model.started', step, attempt: 1, model: 'm' },
    ...(pick === 0 ? ([{ type: 'model.failed', step, attempt: 1, error: 'x', status: null, retryInMs: 0 }] as const) : []),
    ...(pick === 0 ? ([{ type: 'model.started', step, attempt: 2, model: 'm' }] as const) : []),
    ...(message
      ? [
          {
            ...message,
            message: [
              ...message.message.filter(({ type }) => type === 'text'),
              ...calls.map((callId) => ({ type: 'tool-call' as const, callId, name: 'bash', input: { text } })),
            ],
          },
        ]
      : []),
    ...calls.map((callId): FactBody => ({ type: 'tool.started', step, callId, name: 'bash', effect: pick === 1 ? 'read' : 'once' })),
    ...(pick === 2
      ? ([
          { type: 'process.held', hold, mono: 1 },
          { type: 'process.drained', inFlight: null },
        ] as const)
      : []),
    ...(pick === 3 ? ([{ type: 'process.waiting', question: '?' }] as const) : []),
    { type: 'process.output', stream: 'stdout', text },
    ...(pick === 3 ? ([{ type: 'process.answered', id: '', option: null, text: 'yes', by: 'user' }] as const) : []),
    ...(pick === 2 ? ([{ type: 'process.released', holds: [hold], by: 'user', mono: 2 }] as const) : []),
    ...calls.map((callId): FactBody => ({
      type: 'tool.finished',
      step,
      callId,
      name: 'bash',
      outcome: pick === 4 ? 'error' : 'ok',
      content: text,
      durationMs: 1,
      ...(pick === 5 ? { images: [{ mediaType: 'image/png', data: 'A'.repeat(length) }] } : {}),
    })),
    ...(pick === 6 ? ([{ type: 'files.recorded', step, commit: `c${step}`, head: 'h', left: [] }] as const) : []),
  ]
}

async function readAll(store: Store, uuid: string): Promise<readonly StoredFact[]> {
  const found: StoredFact[] = []
  for (;;) {
    const page = await store.facts(uuid, found.at(-1)?.seq ?? 0, 1_000)
    found.push(...page)
    if (page.length < 1_000) return found
  }
}

function rowsIn({ columns }: BriefStepsView): BriefStep[] {
  return columns.step.map(
    (_, index) => Object.fromEntries(Object.entries(columns).map(([name, column]) => [name, column[index]])) as unknown as BriefStep,
  )
}

test(`while histories and their forks grow, the index equals rows made afresh (seed ${SEED})`, async () => {
  for (let round = 0; round < HISTORIES; round += 1) {
    const random = seededRandom(SEED + round)
    await using fixture = await openTestStore()
    const { store } = fixture
    const commits = new CommitMaker()
    const steps = new StepReads({ store, reads: { get: async () => commits.get(A) }, slices: new EventLoopTurns().newQueue() })
    const compare = async (uuid: string): Promise<void> => {
      const fresh = new BriefSteps()
      for (const { body, at } of await readAll(store, uuid)) fresh.apply(body, at)
      const { rows } = fresh
      expect(rowsIn(await steps.brief(commits.get(uuid), { limit: 5_000 }))).toEqual(rows)
      const after = Math.floor(random() * (rows.length + 1))
      expect(rowsIn(await steps.brief(commits.get(uuid), { after, limit: 7 }))).toEqual(rows.filter(({ step }) => step > after).slice(0, 7))
      expect(rowsIn(await steps.brief(commits.get(uuid), { before: after, limit: 7 }))).toEqual(
        rows.filter(({ step }) => step < after).slice(-7),
      )
    }
    await store.commit(commits.spawn(A))
    let [step, forked] = [0, 0]
    for (let commit = 0; commit < COMMITS; commit += 1) {
      const bodies = nextFacts(random, step + 1)
      step += 1
      const cut = Math.floor(random() * (bodies.length + 1))
      for (const part of [bodies.slice(0, cut), bodies.slice(cut)]) {
        if (part.length > 0) await store.commit(commits.write(A, ...part))
        if (random() < 0.2) await compare(A)
      }
      if (forked === 0 && step > 5) {
        forked = step
        await store.commit(commits.fork(B, A, commits.get(A).seq))
      }
    }
    if (forked > 0) {
      await store.commit(commits.write(B, ...nextFacts(random, forked + 1)))
      await compare(B)
    }
    await compare(A)
  }
})
