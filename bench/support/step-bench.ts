// Agents of the benchmarks of the durable step: each makes steps through kernel, pipeline and store, as a driver reports them.
import { systemClock } from '../../src/daemon/loop/clock.ts'
import { Pipeline } from '../../src/daemon/loop/pipeline.ts'
import { Table } from '../../src/daemon/loop/table.ts'
import type { Report } from '../../src/kernel/model/reports.ts'
import type { ProcessSpec } from '../../src/kernel/model/process-spec.ts'
import type { Store } from '../../src/store/store.ts'

/** the text of each message and of each result */
export const TEXT = 'x'.repeat(2_048)

const SPEC: ProcessSpec = {
  name: null,
  agent: 'bench',
  driver: 'native',
  intent: 'go',
  cwd: '/',
  interactive: false,
  model: 'script:none',
  system: null,
  tools: null,
  deny: [],
  argv: null,
  env: {},
  credentials: [],
  containment: 'auto',
  limits: {},
}

export interface StepBench extends AsyncDisposable {
  begin(uuid: string): Promise<StepAgent>
}

export interface StepAgent {
  step(reports: StepReports): Promise<void>
}

/** The reports of a step: the message with a call, then the call's result and the start of the next step. */
export interface StepReports {
  readonly message: Report
  readonly result: Report
  readonly next: Report
}

/** Opens a pipeline on an empty store. It owns the store. */
export function openStepBench(store: Store & AsyncDisposable): StepBench {
  const table = new Table(10_000)
  const pipeline: Pipeline = new Pipeline({
    table,
    store,
    clock: systemClock,
    cursor: 0,
    publish: () => {},
    perform: (effect) => {
      if (effect.type === 'reply' || effect.type === 'refuse') pipeline.answer(effect)
    },
    defer: () => false,
    log: (message, error) => console.error(message, error),
  })
  return {
    begin: (uuid) => startAgent(pipeline, table, uuid),
    [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
  }
}

async function startAgent(pipeline: Pipeline, table: Table, uuid: string): Promise<StepAgent> {
  await pipeline.request({ type: 'spawn', by: 'user', uuid, spec: SPEC, parent: null })
  const pid = table.get(uuid)?.pid ?? 0
  const report = (body: Report): Promise<unknown> => pipeline.request({ type: 'report', uuid, pid, report: body })
  pipeline.submit({ type: 'start', uuid, pid, containment: { kind: 'group', path: null, marker: 'bench' }, missingKeys: [] })
  await report({ type: 'up' })
  await report({ type: 'model.started', step: 1, attempt: 1, model: 'bench' })
  return { step: (reports) => step(report, reports) }
}

async function step(report: (body: Report) => Promise<unknown>, { message, result, next }: StepReports): Promise<void> {
  await report(message)
  await Promise.all([report(result), report(next)])
}

export function reportsOf(number: number): StepReports {
  const callId = `call_${number}`
  return {
    message: {
      type: 'model.finished',
      step: number,
      finish: 'tool-calls',
      durationMs: 1,
      message: [
        { type: 'text', text: TEXT },
        { type: 'tool-call', callId, name: 'bash', input: {} },
      ],
      usage: { inputTokens: 10, outputTokens: 10, cacheReadTokens: 0, cacheWriteTokens: 0, costUsd: 0.001 },
      calls: [{ callId, name: 'bash', effect: 'once' }],
    },
    result: { type: 'tool.finished', callId, outcome: 'ok', content: TEXT, durationMs: 1 },
    next: { type: 'model.started', step: number + 1, attempt: 1, model: 'bench' },
  }
}

export const uuidOf = (n: number): string => `00000000-0000-7000-8000-${String(n).padStart(12, '0')}`
